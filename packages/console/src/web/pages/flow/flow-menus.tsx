import { Group, Layers } from "lucide-react";
import { Button } from "../../ui/button.tsx";
import { PopoverButton } from "../../ui/popover.tsx";
import type { FlowGroup } from "./model/groups.ts";
import { LAYER_NAMES, LAYERS, type Layer } from "./model/layers.ts";

/** Menu of the layers that are shown besides functions. */
export function LayersMenu({
  shown = LAYERS,
  onChange,
}: {
  readonly shown: readonly Layer[] | undefined;
  readonly onChange: (shown: Layer[] | undefined) => void;
}) {
  const change = (layer: Layer, isOn: boolean): void => {
    const next = LAYERS.filter((each) => (each === layer ? isOn : shown.includes(each)));
    onChange(next.length === LAYERS.length ? undefined : next);
  };
  return (
    <PopoverButton
      icon={<Layers aria-hidden className="size-3.5" />}
      opens={{
        label: "Layers",
        className: "flex w-56 flex-col",
        content: () =>
          LAYERS.map((layer) => (
            <CheckboxRow
              key={layer}
              label={LAYER_NAMES[layer]}
              isChecked={shown.includes(layer)}
              onChange={(isOn) => change(layer, isOn)}
            />
          )),
      }}
    >
      Layers{shown.length < LAYERS.length && ` (${shown.length} of ${LAYERS.length})`}
    </PopoverButton>
  );
}

/** Menu of the groups of functions that are collapsed into one node. */
export function GroupsMenu({
  groups,
  closed = [],
  onChange,
}: {
  readonly groups: readonly FlowGroup[];
  readonly closed: readonly string[] | undefined;
  readonly onChange: (closed: string[] | undefined) => void;
}) {
  const set = (next: readonly string[]): void => onChange(next.length === 0 ? undefined : [...next]);
  const names = groups.map(({ name }) => name);
  return (
    <PopoverButton
      icon={<Group aria-hidden className="size-3.5" />}
      disabledReason={groups.length === 0 ? "No two functions share a prefix" : undefined}
      opens={{
        label: "Collapse groups",
        className: "flex max-h-96 w-72 flex-col overflow-auto",
        content: () => (
          <>
            <div className="mb-1 flex gap-1 border-line border-b pb-2">
              <Button disabled={names.every((name) => closed.includes(name))} onClick={() => set(names)}>
                Collapse all
              </Button>
              <Button disabled={closed.length === 0} onClick={() => set([])}>
                Expand all
              </Button>
            </div>
            {groups.map(({ name, count }) => (
              <CheckboxRow
                key={name}
                label={`${name} (${count} functions)`}
                isChecked={closed.includes(name)}
                onChange={(isOn) => set(isOn ? [...closed, name] : closed.filter((each) => each !== name))}
              />
            ))}
          </>
        ),
      }}
    >
      Groups{closed.length > 0 && ` (${closed.length} collapsed)`}
    </PopoverButton>
  );
}

function CheckboxRow({
  label,
  isChecked,
  onChange,
}: {
  readonly label: string;
  readonly isChecked: boolean;
  readonly onChange: (isOn: boolean) => void;
}) {
  return (
    <label className="flex min-h-7 items-center gap-2 rounded-md px-2 hover:bg-hover">
      <input type="checkbox" checked={isChecked} onChange={(event) => onChange(event.target.checked)} />
      <span className="min-w-0 break-all">{label}</span>
    </label>
  );
}
