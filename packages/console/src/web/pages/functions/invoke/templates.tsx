import { Trash2 } from "lucide-react";
import { useId, useState } from "react";
import { useWriteRefusal } from "../../../app/use-hello.tsx";
import { t } from "../../../labels/translate.ts";
import { ApiFailure } from "../../../lib/api.ts";
import { downloadText } from "../../../lib/download-blob.ts";
import { MAX_NAME_CHARACTERS, useDeleteSavedItem, useSavedItems, useSaveItems } from "../../../lib/saved-items.ts";
import { useLiveState } from "../../../lib/use-live.ts";
import { Button } from "../../../ui/button.tsx";
import { EmptyState, ErrorState } from "../../../ui/data-region.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { INPUT } from "../../../ui/input-class.ts";
import { invocations } from "./invoke-store.ts";
import type { Draft } from "./request.ts";
import { readTemplates, type Template, templatesOf } from "./template.ts";

/** Inputs that were saved. All users of this engine see them. */
export function Templates({
  functionId,
  draft,
  problem,
}: {
  readonly functionId: string;
  readonly draft: Draft;
  readonly problem: string | undefined;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t`Templates…`}</Button>
      {isOpen && (
        <TemplatesDialog functionId={functionId} draft={draft} problem={problem} onClose={() => setOpen(false)} />
      )}
    </>
  );
}

function TemplatesDialog(props: {
  readonly functionId: string;
  readonly draft: Draft;
  readonly problem: string | undefined;
  readonly onClose: () => void;
}) {
  const { functionId, draft, problem, onClose } = props;
  const kind = templatesOf(functionId);
  const templates = useSavedItems(kind);
  const save = useSaveItems(kind);
  const remove = useDeleteSavedItem(kind);
  const [name, setName] = useState("");
  const [fileProblem, setFileProblem] = useState<string>();
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const fileId = useId();
  const all = templates.data ?? [];
  const exists = all.some((template) => template.name === name.trim());
  const use = (template: Template): void => {
    invocations.change(functionId, template.draft);
    onClose();
  };
  const failure = save.error ?? remove.error;
  return (
    <Dialog
      open
      onClose={onClose}
      title={t`Templates of ${functionId}`}
      description={t`Stored in the engine's state, scope __console. Inputs are stored unmasked, including secrets.`}
    >
      <form
        className="flex flex-wrap items-center gap-2 pb-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() === "" || problem !== undefined || refusal !== undefined) return;
          save.mutate([{ name: name.trim(), draft, saved_at_ms: Date.now() }], { onSuccess: () => setName("") });
        }}
      >
        <label className="flex min-w-0 flex-1 items-center gap-2 text-ink-2">
          {t`Name`}
          <input
            className={`${INPUT} min-w-0 flex-1`}
            value={name}
            maxLength={MAX_NAME_CHARACTERS}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <Button
          type="submit"
          look="primary"
          disabledReason={refusal ?? problem}
          disabled={name.trim() === ""}
          isPending={save.isPending}
        >
          {exists ? t`Replace` : t`Save the input`}
        </Button>
      </form>
      {(failure !== null || fileProblem !== undefined) && (
        <p role="alert" className="mb-2 rounded-md bg-danger-soft px-3 py-1.5 text-danger">
          {fileProblem ?? failure?.message}
        </p>
      )}
      {templates.error !== null ? (
        <TemplatesError error={templates.error} retry={() => void templates.refetch()} />
      ) : templates.data !== undefined && all.length === 0 ? (
        <p className="py-4 text-center text-ink-2">{t`No templates for this function`}</p>
      ) : (
        <ul className="flex flex-col gap-1">
          {all.map((template) => (
            <li key={template.name} className="flex items-center gap-2 rounded-md border border-line px-2 py-1">
              <button
                type="button"
                className="min-w-0 flex-1 truncate text-left text-accent underline"
                onClick={() => use(template)}
              >
                {template.name}
              </button>
              <code className="max-w-40 truncate text-ink-3">{template.draft.payload.replace(/\s+/g, " ")}</code>
              <Button
                look="ghost"
                aria-label={t`Delete the template ${template.name}`}
                disabledReason={refusal}
                onClick={() => remove.mutate(template.name)}
                icon={<Trash2 aria-hidden className="size-3.5" />}
              />
            </li>
          ))}
        </ul>
      )}
      <div className="flex items-center gap-2 pt-3">
        <Button
          disabled={all.length === 0}
          onClick={() =>
            downloadText(JSON.stringify(all, undefined, 2), `templates of ${functionId.replace(/[^\w.-]+/g, "_")}.json`)
          }
        >
          {t`Export`}
        </Button>
        <label htmlFor={fileId} className="text-ink-2">
          {t`Import`}
        </label>
        <input
          id={fileId}
          type="file"
          accept="application/json,.json"
          disabled={refusal !== undefined}
          title={refusal}
          className="min-w-0 flex-1 text-ink-2"
          onChange={(event) => {
            const file = event.target.files?.[0];
            event.target.value = "";
            setFileProblem(undefined);
            file
              ?.text()
              .then((text) => save.mutate(readTemplates(text)))
              .catch((error: unknown) => setFileProblem((error as Error).message));
          }}
        />
      </div>
    </Dialog>
  );
}

function TemplatesError({ error, retry }: { readonly error: Error; readonly retry: () => void }) {
  if (error instanceof ApiFailure && error.code === "function_not_found") {
    return (
      <EmptyState title={t`Templates need svc-state`} snippet={"workers:\n  - name: svc-state"}>
        {t`Templates are stored in the engine's state, and that module is not loaded. Add it to the config file:`}
      </EmptyState>
    );
  }
  return <ErrorState error={error} retry={retry} />;
}
