import { Group, Layers } from "lucide-react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { Button } from "../../ui/button.tsx";
import { PopoverButton } from "../../ui/popover.tsx";
import type { FlowGroup } from "./model/groups.ts";
import { LAYER_NAMES, LAYERS, type Layer } from "./model/layers.ts";

/** Menu that selects the layers to show besides functions. */
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
        label: t`Layers`,
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
      {shown.length < LAYERS.length ? t`Layers (${shown.length} of ${LAYERS.length})` : t`Layers`}
    </PopoverButton>
  );
}

/** Menu that selects the groups of functions to collapse into one node. */
export function GroupsMenu({
  groups,
  closed,
  onChange,
}: {
  readonly groups: readonly FlowGroup[];
  readonly closed: readonly string[];
  readonly onChange: (closed: string[]) => void;
}) {
  const keysOf = (by: FlowGroup["by"]): string[] => groups.flatMap((group) => (group.by === by ? [group.key] : []));
  return (
    <PopoverButton
      icon={<Group aria-hidden className="size-3.5" />}
      disabledReason={groups.length === 0 ? t`No two functions share a worker or a prefix` : undefined}
      opens={{
        label: t`Collapse groups`,
        className: "flex max-h-96 w-72 flex-col overflow-auto",
        content: () => (
          <>
            <div className="mb-1 flex gap-1 border-line border-b pb-2">
              <Button onClick={() => onChange(keysOf("worker"))}>{t`Collapse workers`}</Button>
              <Button onClick={() => onChange(keysOf("prefix"))}>{t`Collapse prefixes`}</Button>
              <Button disabled={closed.length === 0} onClick={() => onChange([])}>
                {t`Expand all`}
              </Button>
            </div>
            {groups.map(({ key, by, name, count }) => (
              <CheckboxRow
                key={key}
                label={
                  by === "worker" ? t`Worker ${name} (${count} functions)` : t`Prefix ${name} (${count} functions)`
                }
                isChecked={closed.includes(key)}
                onChange={(isOn) => onChange(isOn ? [...closed, key] : closed.filter((each) => each !== key))}
              />
            ))}
          </>
        ),
      }}
    >
      {rich`Groups${closed.length > 0 && ` (${closed.length})`}`}
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
