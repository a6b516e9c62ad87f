import { RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { plural, t } from "../../labels/translate.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import { allDeadIds, discard, redrive, redriveAll } from "./queue-api.ts";
import { useAction } from "./use-queues.ts";

/**
 * Buttons that redrive or discard the selected dead letters, or redrive all of them. Each button asks for confirmation
 * and shows the exact number.
 */
export function DeadActions({
  queue,
  selected,
  total,
  onSelectAll,
}: {
  readonly queue: string;
  /** Ids of the selected dead letters. `all` includes those that are not loaded here. */
  readonly selected: readonly string[] | "all";
  /** Number of dead letters in the queue. */
  readonly total: number;
  readonly onSelectAll: (isOn: boolean) => void;
}) {
  const refusal = useWriteRefusal(useLiveState().phase);
  const action = useAction();
  const [openDialog, setOpenDialog] = useState<"redrive-all" | "redrive" | "discard" | undefined>();
  const count = selected === "all" ? total : selected.length;
  const isAll = selected === "all" || selected.length === total;
  const ids = openDialog === "redrive-all" ? "all" : selected;
  const toRedrive = ids === "all" ? total : ids.length;
  const run = async (change: () => Promise<unknown>, message: string): Promise<void> => {
    if (!(await action.run(change))) return;
    // Only the dialog of this action is closed, because the user may have opened another one while the action ran.
    setOpenDialog((now) => (now === openDialog ? undefined : now));
    // The selection is removed, because "all" would otherwise include dead letters that arrive later.
    onSelectAll(false);
    toast(message);
  };
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-1.5 border-line border-b px-3 py-1.5">
      <Button look="ghost" onClick={() => onSelectAll(!isAll)}>
        {isAll ? t`Clear selection` : t`Select all ${total}`}
      </Button>
      <span className="flex-1" />
      {count > 0 && (
        <>
          <Button
            icon={<RotateCcw aria-hidden className="size-3.5" />}
            disabledReason={refusal}
            onClick={() => setOpenDialog("redrive")}
          >
            {t`Redrive ${count} selected`}
          </Button>
          <Button
            look="danger"
            icon={<Trash2 aria-hidden className="size-3.5" />}
            disabledReason={refusal}
            onClick={() => setOpenDialog("discard")}
          >
            {t`Discard ${count}`}
          </Button>
        </>
      )}
      <Button
        icon={<RotateCcw aria-hidden className="size-3.5" />}
        disabledReason={refusal}
        onClick={() => setOpenDialog("redrive-all")}
      >
        {t`Redrive all`}
      </Button>
      {action.problem !== undefined && (
        <p role="alert" className="w-full text-danger">
          {action.problem}
        </p>
      )}
      {(openDialog === "redrive" || openDialog === "redrive-all") && (
        <ConfirmDialog
          open
          onClose={() => setOpenDialog(undefined)}
          title={t`Redrive ${lettersText(toRedrive)}?`}
          description={plural(
            toRedrive,
            "This puts it back on {0}, with the full number of attempts again.",
            "This puts them back on {0}, with the full number of attempts again.",
            queue,
          )}
          action={t`Redrive ${toRedrive}`}
          isPending={action.isPending}
          refusal={refusal}
          onConfirm={() =>
            void run(
              () => (ids === "all" ? redriveAll(queue) : redrive(queue, ids)),
              t`${lettersText(toRedrive)} redriven to ${queue}`,
            )
          }
        >
          <Problem text={action.problem} />
        </ConfirmDialog>
      )}
      {openDialog === "discard" && (
        <ConfirmDialog
          open
          onClose={() => setOpenDialog(undefined)}
          title={t`Discard ${lettersText(count)}?`}
          description={plural(
            count,
            "This permanently deletes it and its data from {0}.",
            "This permanently deletes them and their data from {0}.",
            queue,
          )}
          action={t`Discard ${count}`}
          isPending={action.isPending}
          refusal={refusal}
          onConfirm={() =>
            void run(
              async () => discard(queue, selected === "all" ? await allDeadIds(queue) : selected),
              t`${lettersText(count)} discarded`,
            )
          }
        >
          <Problem text={action.problem} />
        </ConfirmDialog>
      )}
    </div>
  );
}

function lettersText(count: number): string {
  return plural(count, "# dead letter", "# dead letters");
}

function Problem({ text }: { readonly text: string | undefined }) {
  return text === undefined ? null : (
    <p role="alert" className="text-danger">
      {text}
    </p>
  );
}
