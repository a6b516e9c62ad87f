import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { t } from "../../labels/translate.ts";
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

/** Dialog that creates an item. It never overwrites an existing item. */
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
  const existing = useQuery({
    queryKey: ["state-entry", group, key],
    queryFn: ({ signal }) => fetchEntry(group, key, signal),
    enabled: isNamed,
  });
  const isTaken = isNamed && existing.data != null;
  const problem = valueProblem(value, key);
  const canAdd = isNamed && !isTaken && problem === undefined;

  const add = async (): Promise<void> => {
    setPending(true);
    setFailure(undefined);
    try {
      await createItem(group, key, valueToJson(value));
      await refresh();
      toast(t`${key} is stored in ${group}`);
      onClose();
      onOpen(group, key);
    } catch (thrown) {
      const isConflict = thrown instanceof ApiFailure && thrown.code === "state_conflict";
      setFailure(isConflict ? t`The key already exists; nothing was stored.` : (thrown as Error).message);
      setPending(false);
    }
  };
  const submit = (): void => {
    if (canAdd && refusal === undefined) void add();
  };
  const groupProblem = group === "" ? undefined : nameProblem(group);
  const keyProblem = key === "" ? undefined : nameProblem(key);
  return (
    <Dialog
      open
      onClose={onClose}
      title={t`Add an item`}
      description={t`A group is created with its first item.`}
      footer={
        <>
          <Button onClick={onClose}>{t`Cancel`}</Button>
          <Button
            look="primary"
            isPending={isPending}
            disabledReason={refusal}
            disabled={!canAdd}
            onClick={() => void add()}
          >
            {t`Add`}
          </Button>
        </>
      }
    >
      <form
        className="flex flex-col gap-3 p-0.5"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <label className="flex flex-col gap-1">
          {t`Group`}
          <input
            value={group}
            spellCheck={false}
            onChange={(event) => setGroup(event.target.value)}
            className={INPUT}
          />
          {groupProblem !== undefined && <span className="text-danger">{t`The group ${groupProblem}.`}</span>}
        </label>
        <label className="flex flex-col gap-1">
          {t`Key`}
          <input value={key} spellCheck={false} onChange={(event) => setKey(event.target.value)} className={INPUT} />
          {keyProblem !== undefined && <span className="text-danger">{t`The key ${keyProblem}.`}</span>}
        </label>
        {isTaken && (
          <p role="status" className="flex items-center gap-2 text-warn">
            {t`This key already exists.`}
            <Button
              onClick={() => {
                onClose();
                onOpen(group, key);
              }}
            >
              {t`Open item`}
            </Button>
          </p>
        )}
        <ValueFields value={value} onChange={setValue} onSubmit={submit} />
        {problem !== undefined && value.text !== "" && <p className="text-danger">{problem}</p>}
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
