import { getRouteApi } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { ApiFailure } from "../../lib/api.ts";
import { bytes } from "../../lib/time.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { ScrollArea } from "../../ui/scroll-area.tsx";
import { Ago } from "../../ui/time.tsx";
import { toast } from "../../ui/toasts.tsx";
import { previewOf } from "./item-columns.tsx";
import { type Entry, typeOfJson } from "./model.ts";
import { deleteItem, restoreItems } from "./state-api.ts";
import { TriggerNote } from "./trigger-note.tsx";
import type { Binding } from "./triggers.ts";
import { useRefresh } from "./use-states.ts";

const route = getRouteApi("/states/{-$group}/{-$key}");

/** Shows the metadata of an item, with the buttons that copy its key and delete it. */
export function ItemHead({
  group,
  entry,
  triggers,
  onDeleted,
}: {
  readonly group: string;
  readonly entry: Entry;
  readonly triggers: readonly Binding[];
  readonly onDeleted: () => void;
}) {
  const { phase, skewMs } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const navigate = route.useNavigate();
  const refresh = useRefresh();
  const [deleting, setDeleting] = useState<Entry | undefined>();
  const [isPending, setPending] = useState(false);
  const [problem, setProblem] = useState<string | undefined>();

  const restore = (deleted: Entry): void => {
    restoreItems(group, [deleted], Date.now() + skewMs).then(refresh, (thrown: Error) =>
      toast(
        thrown instanceof ApiFailure && thrown.code === "state_conflict"
          ? t`${deleted.key} was stored again in the meantime; it is unchanged`
          : thrown.message,
      ),
    );
  };
  const remove = async (item: Entry): Promise<void> => {
    setPending(true);
    setProblem(undefined);
    try {
      await deleteItem(group, item.key, item.version);
    } catch (thrown) {
      const isConflict = thrown instanceof ApiFailure && thrown.code === "state_conflict";
      setProblem(
        isConflict
          ? t`Not deleted: the item changed in the meantime. Close this dialog and check it.`
          : (thrown as Error).message,
      );
      setPending(false);
      return;
    }
    onDeleted();
    toast(t`${item.key} is deleted`, { label: t`Undo`, run: () => restore(item) });
    await navigate({
      to: "/states/{-$group}/{-$key}",
      params: (before) => ({ ...before, key: undefined }),
      search: true,
      ignoreBlocker: true,
    });
    await refresh();
  };
  return (
    <div className="flex flex-col gap-1.5 border-line border-b px-3 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-[12px] text-ink-2">
        <Badge>{typeOfJson(entry.json)}</Badge>
        <span>{t`version ${String(entry.version)}`}</span>
        <span>{bytes(entry.bytes)}</span>
        <span>{rich`updated ${<Ago ms={entry.updatedAtMs} />}`}</span>
        {entry.expiresAtMs !== undefined && <span>{rich`expires ${<Ago ms={entry.expiresAtMs} />}`}</span>}
        <span className="ml-auto flex items-center gap-1">
          <CopyButton text={entry.key} label={t`Copy the key`} />
          <Button
            look="ghost"
            aria-label={t`Delete the item`}
            disabledReason={refusal}
            title={t`Delete the item`}
            icon={<Trash2 aria-hidden className="size-4" />}
            onClick={() => setDeleting(entry)}
          />
        </span>
      </div>
      <TriggerNote triggers={triggers} />
      {deleting !== undefined && (
        <ConfirmDialog
          open
          onClose={() => {
            setDeleting(undefined);
            setProblem(undefined);
          }}
          title={t`Delete this item?`}
          description={rich`${<code className="break-all text-ink">{deleting.key}</code>} of the group ${<code className="break-all text-ink">{group}</code>}`}
          action={t`Delete`}
          isPending={isPending}
          refusal={refusal}
          onConfirm={() => void remove(deleting)}
        >
          <ScrollArea label={t`Value`} className="mb-2 max-h-40 rounded-md bg-raised p-2">
            <pre className="whitespace-pre-wrap break-words">{previewOf(deleting)}</pre>
          </ScrollArea>
          <TriggerNote triggers={triggers} />
          {problem !== undefined && (
            <p role="alert" className="mt-2 text-danger">
              {problem}
            </p>
          )}
        </ConfirmDialog>
      )}
    </div>
  );
}
