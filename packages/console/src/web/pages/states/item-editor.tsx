import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { ApiFailure } from "../../lib/api.ts";
import { jsonProblem, pretty } from "../../lib/json-text.ts";
import { maskProblem } from "../../lib/mask-problem.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { JsonDiff } from "../../ui/json-diff.tsx";
import { JsonEditor } from "../../ui/json-editor.tsx";
import { toast } from "../../ui/toasts.tsx";
import type { Entry } from "./model.ts";
import { changeItem, createItem, deleteItem } from "./state-api.ts";
import { TriggerNote } from "./trigger-note.tsx";
import type { Binding } from "./triggers.ts";

/**
 * Maximum length of a value in the JSON editor, in characters. For longer values, a plain text field is used, because
 * it stays fast.
 */
const LARGE = 512 * 1024;

/**
 * Editor of a value. Before it saves, it shows the diff. It overwrites only the version from which the edit started.
 */
export function ItemEditor(props: {
  readonly group: string;
  readonly itemKey: string;
  /** Item from which the edit started. Null if it does not exist; saving then creates it. */
  readonly base: Entry | null;
  readonly text: string;
  readonly isDirty: boolean;
  /**
   * True if the base contains secrets that are not revealed. Editing is then disabled, so that a mask is never stored.
   */
  readonly isMasked: boolean;
  readonly onReveal: () => void;
  readonly triggers: readonly Binding[];
  readonly onChange: (text: string) => void;
  readonly onDiscard: () => void;
  readonly onSaved: () => Promise<void>;
  /** Called when a save was undone. Later edits are kept. */
  readonly onUndone: () => Promise<void>;
  readonly onConflict: () => Promise<void>;
}) {
  const {
    group,
    itemKey,
    base,
    text,
    isDirty,
    isMasked,
    onReveal,
    triggers,
    onChange,
    onDiscard,
    onSaved,
    onUndone,
    onConflict,
  } = props;
  const refusal = useWriteRefusal(useLiveState().phase);
  const [isReviewing, setReviewing] = useState(false);
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<string | undefined>();
  const syntax = isDirty ? jsonProblem(text) : undefined;
  const mask = isDirty ? maskProblem(text, base?.json, itemKey) : undefined;
  const unstorable = syntax === undefined ? mask : t`Only JSON can be stored`;

  const review = (): void => {
    if (isDirty && unstorable === undefined && refusal === undefined) setReviewing(true);
  };
  /** Stores the value from before the edit again, unless the item has been changed since. */
  const undo = (version: number): void => {
    const undone = base === null ? deleteItem(group, itemKey, version) : changeItem(group, itemKey, base.json, version);
    undone.then(onUndone, (thrown: Error) =>
      toast(
        thrown instanceof ApiFailure && thrown.code === "state_conflict"
          ? t`${itemKey} was changed again in the meantime; it is unchanged`
          : thrown.message,
      ),
    );
  };
  const save = async (): Promise<void> => {
    setPending(true);
    setFailure(undefined);
    try {
      const version =
        base === null ? await createItem(group, itemKey, text) : await changeItem(group, itemKey, text, base.version);
      setReviewing(false);
      await onSaved();
      toast(t`${itemKey} is saved`, { label: t`Undo`, run: () => undo(version) });
    } catch (thrown) {
      if (thrown instanceof ApiFailure && thrown.code === "state_conflict") {
        setReviewing(false);
        await onConflict();
      } else setFailure((thrown as Error).message);
    } finally {
      setPending(false);
    }
  };
  if (isMasked) {
    return (
      <p className="flex flex-wrap items-center gap-3 p-4 text-ink-2">
        {t`This value contains secrets; reveal them to edit it.`}{" "}
        <Button onClick={onReveal}>{t`Reveal and edit`}</Button>
      </p>
    );
  }
  return (
    <div className="flex h-full min-h-0 flex-col gap-2 p-3">
      {text.length > LARGE ? (
        <textarea
          aria-label={t`Value of ${itemKey}`}
          value={text}
          spellCheck={false}
          onChange={(event) => onChange(event.target.value)}
          className="min-h-40 flex-1 rounded-md border border-line-strong/60 bg-surface p-2 font-mono text-[12px]"
        />
      ) : (
        <JsonEditor
          label={t`Value of ${itemKey}`}
          value={text}
          onChange={onChange}
          onSave={review}
          onSubmit={review}
          className="min-h-40 flex-1"
        />
      )}
      {syntax !== undefined && (
        <p role="alert" className="text-danger">
          {t`This is not JSON: ${syntax}`}
        </p>
      )}
      {mask !== undefined && (
        <p role="alert" className="text-danger">
          {mask}.
        </p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button
          look="primary"
          disabledReason={refusal ?? unstorable}
          disabled={!isDirty}
          onClick={review}
          title={t`Save (Ctrl or ⌘ S)`}
        >
          {t`Save …`}
        </Button>
        <Button disabled={!isDirty} onClick={onDiscard}>
          {t`Discard changes`}
        </Button>
        <span className="text-[12px] text-ink-3">
          {base === null
            ? t`The item does not exist; saving creates it.`
            : t`Based on version ${String(base.version)}.`}
        </span>
      </div>
      {isReviewing && (
        <Dialog
          open
          onClose={() => setReviewing(false)}
          title={t`Save these changes?`}
          description={
            base !== null
              ? rich`${<code className="break-all text-ink">{itemKey}</code>} of the group ${<code className="break-all text-ink">{group}</code>}, over version ${String(base.version)}`
              : rich`${<code className="break-all text-ink">{itemKey}</code>} of the group ${<code className="break-all text-ink">{group}</code>}`
          }
          footer={
            <>
              <Button onClick={() => setReviewing(false)}>{t`Back`}</Button>
              <Button
                look="primary"
                isPending={isPending}
                disabledReason={refusal}
                onClick={() => void save()}
                autoFocus
              >
                {t`Save`}
              </Button>
            </>
          }
        >
          {text.length > LARGE ? (
            <p className="text-ink-2">{t`The value is too long for a diff.`}</p>
          ) : (
            <JsonDiff
              label={t`What changes`}
              before={base === null ? "" : pretty(base.json)}
              after={text}
              className="max-h-[50vh]"
            />
          )}
          <TriggerNote triggers={triggers} />
          {failure !== undefined && (
            <p role="alert" className="mt-2 text-danger">
              {t`Not saved: ${failure}`}
            </p>
          )}
        </Dialog>
      )}
    </div>
  );
}
