import { useRouterState } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { rich } from "../labels/rich.ts";
import { t } from "../labels/translate.ts";
import {
  hasName,
  MAX_NAME_CHARACTERS,
  type Named,
  type SavedKind,
  useDeleteSavedItem,
  useSavedItems,
  useSaveItems,
} from "../lib/saved-items.ts";
import { useLiveState } from "../lib/use-live.ts";
import { Button } from "../ui/button.tsx";
import { DataRegion } from "../ui/data-region.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { HrefLink } from "../ui/href-link.tsx";
import { isModuleMissing, ModuleMissing } from "../ui/module-missing.tsx";
import { useWriteRefusal } from "./use-hello.tsx";

const MAX_VIEWS = 50;

interface SavedView extends Named {
  /** Query of the address, including its question mark. Empty if there is no query. */
  readonly query: string;
  readonly saved_at_ms: number;
}

function isView(value: unknown): value is SavedView {
  const { query } = (value ?? {}) as Partial<SavedView>;
  return hasName(value) && typeof query === "string" && /^(?:\?.*)?$/.test(query);
}

/** Saves the current view and lists saved views. */
export default function SavedViewsDialog({
  page,
  onClose,
}: {
  readonly page: "traces" | "logs";
  readonly onClose: () => void;
}) {
  const kind: SavedKind<SavedView> = { prefix: `view/${page}/`, most: MAX_VIEWS, isItem: isView };
  const views = useSavedItems(kind);
  const keep = useSaveItems(kind);
  const forget = useDeleteSavedItem(kind);
  const query = useRouterState({ select: ({ location }) => location.searchStr });
  const [typed, setTyped] = useState("");
  const { phase } = useLiveState();
  const name = typed.trim();
  const all = views.data ?? [];
  const exists = all.some((view) => view.name === name);
  const isFull = all.length >= MAX_VIEWS && !exists;
  const refusal = useWriteRefusal(phase);
  const refusalToSave = refusal ?? (isFull ? t`${MAX_VIEWS} views is the maximum; delete one first` : undefined);
  const failure = keep.error ?? forget.error;
  const save = (event: FormEvent): void => {
    event.preventDefault();
    if (name !== "" && refusalToSave === undefined && views.data !== undefined) {
      keep.mutate([{ name, query, saved_at_ms: Date.now() }], { onSuccess: () => setTyped("") });
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={t`Saved views`}
      description={t`Filters, time and columns, for all users of this engine. Stored in its state, in the scope __console.`}
    >
      {isModuleMissing(views.error) ? (
        <ModuleMissing module="svc-state" what={t`The state, where views are stored,`} />
      ) : (
        <>
          <form className="flex flex-wrap items-center gap-2 pb-1" onSubmit={save}>
            <label className="flex min-w-0 flex-1 items-center gap-2 text-ink-2">
              {t`Name`}
              <input
                value={typed}
                maxLength={MAX_NAME_CHARACTERS}
                onChange={(event) => setTyped(event.target.value)}
                className="h-7 min-w-0 flex-1 rounded-md border border-line-strong/60 bg-surface px-2 text-ink"
              />
            </label>
            <Button
              type="submit"
              look="primary"
              disabledReason={refusalToSave}
              disabled={name === "" || views.data === undefined}
              isPending={keep.isPending}
            >
              {exists ? t`Replace` : t`Save this view`}
            </Button>
          </form>
          <p className="break-all pb-3 text-[12px] text-ink-3">{rich`Now: ${<code>{readable(query)}</code>}`}</p>
          {failure !== null && (
            <p role="alert" className="mb-2 rounded-md bg-danger-soft px-3 py-1.5 text-danger">
              {failure.message}
            </p>
          )}
          <DataRegion
            loading={views.isPending}
            error={views.error}
            retry={() => void views.refetch()}
            empty={all.length === 0}
            emptyState={<p className="py-4 text-center text-ink-2">{t`No view of this page is saved yet.`}</p>}
          >
            <ul aria-label={t`Saved views`} className="flex flex-col gap-1">
              {all.map((view) => (
                <li key={view.name} className="flex items-center gap-2 rounded-md border border-line px-2 py-1">
                  <HrefLink href={`/${page}${view.query}`} onClick={onClose} className="shrink-0 text-accent underline">
                    {view.name}
                  </HrefLink>
                  <code className="min-w-0 flex-1 truncate text-ink-3" title={readable(view.query)}>
                    {readable(view.query)}
                  </code>
                  <Button
                    look="ghost"
                    aria-label={t`Delete the view ${view.name}`}
                    disabledReason={refusal}
                    onClick={() => forget.mutate(view.name)}
                    icon={<Trash2 aria-hidden className="size-3.5" />}
                  />
                </li>
              ))}
            </ul>
          </DataRegion>
        </>
      )}
    </Dialog>
  );
}

/** Formats a query for display. */
function readable(query: string): string {
  const parts = [...new URLSearchParams(query)].map(([name, value]) => `${name}=${value}`);
  return parts.length === 0 ? "everything" : parts.join(" ");
}
