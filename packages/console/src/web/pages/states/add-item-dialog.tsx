import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useWriteRefusal } from "../../app/hello.tsx";
import { ApiFailure } from "../../lib/api.ts";
import { useLiveCollection, useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import { nameProblem } from "./model.ts";
import { emptyValue, type NewValue, valueProblem, valueToJson } from "./new-value.ts";
import { createItem, fetchEntry } from "./state-api.ts";
import { TriggerNote } from "./trigger-note.tsx";
import { type Binding, triggersOf } from "./triggers.ts";
import { useRefresh } from "./use-states.ts";
import { ValueFields } from "./value-fields.tsx";

const INPUT = "h-8 rounded-md border border-line-strong/60 bg-surface px-2 font-mono text-[12px]";

/** Stores a new item; one that is there already is not touched. */
export function AddItemDialog({
  group: firstGroup,
  onClose,
  onOpen,
}: {
  readonly group: string;
  readonly onClose: () => void;
  readonly onOpen: (group: string, key: string) => void;
}) {
  const refusal = useWriteRefusal(useLiveState().phase);
  const refresh = useRefresh();
  const bindings = useLiveCollection<Binding>("svc.triggers", ({ id }) => id);
  const [group, setGroup] = useState(firstGroup);
  const [key, setKey] = useState("");
  const [value, setValue] = useState<NewValue>(emptyValue);
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<string | undefined>();
  const isNamed = nameProblem(group) === undefined && nameProblem(key) === undefined;
  const there = useQuery({
    queryKey: ["state-entry", group, key],
    queryFn: ({ signal }) => fetchEntry(group, key, signal),
    enabled: isNamed,
  });
  const isTaken = isNamed && there.data != null;
  const wrong = valueProblem(value, key);

  const add = async (): Promise<void> => {
    setPending(true);
    setFailure(undefined);
    try {
      await createItem(group, key, valueToJson(value));
      await refresh();
      toast(`${key} is stored in ${group}`);
      onClose();
      onOpen(group, key);
    } catch (thrown) {
      const isThere = thrown instanceof ApiFailure && thrown.code === "state_conflict";
      setFailure(isThere ? "The key is there already; nothing was stored." : (thrown as Error).message);
      setPending(false);
    }
  };
  const groupProblem = group === "" ? undefined : nameProblem(group);
  const keyProblem = key === "" ? undefined : nameProblem(key);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Add an item"
      description="A group comes into being with its first item."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            isPending={isPending}
            disabledReason={refusal}
            disabled={!isNamed || isTaken || wrong !== undefined}
            onClick={() => void add()}
          >
            Add
          </Button>
        </>
      }
    >
      <form
        className="flex flex-col gap-3 p-0.5"
        onSubmit={(event) => {
          event.preventDefault();
          if (isNamed && !isTaken && wrong === undefined && refusal === undefined) void add();
        }}
      >
        <label className="flex flex-col gap-1">
          Group
          <input value={group} spellCheck={false} onChange={(event) => setGroup(event.target.value)} className={INPUT} />
          {groupProblem !== undefined && <span className="text-danger">The group {groupProblem}.</span>}
        </label>
        <label className="flex flex-col gap-1">
          Key
          <input value={key} spellCheck={false} onChange={(event) => setKey(event.target.value)} className={INPUT} />
          {keyProblem !== undefined && <span className="text-danger">The key {keyProblem}.</span>}
        </label>
        {isTaken && (
          <p role="status" className="flex items-center gap-2 text-warn">
            This key is there already.
            <Button
              onClick={() => {
                onClose();
                onOpen(group, key);
              }}
            >
              Open it
            </Button>
          </p>
        )}
        <ValueFields value={value} onChange={setValue} onSubmit={() => void (isNamed && !isTaken && wrong === undefined && refusal === undefined && add())} />
        {wrong !== undefined && value.text !== "" && <p className="text-danger">{wrong}</p>}
        <TriggerNote triggers={isNamed ? triggersOf(bindings.items, group, key) : []} />
        {failure !== undefined && (
          <p role="alert" className="text-danger">
            {failure}
          </p>
        )}
      </form>
    </Dialog>
  );
}
