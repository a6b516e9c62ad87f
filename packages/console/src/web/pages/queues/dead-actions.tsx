import { RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import { useWriteRefusal } from "../../app/hello.tsx";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import { discard, redrive, redriveAll } from "./queue-api.ts";
import { useAction } from "./use-queues.ts";

/** Buttons that redrive the selected or all dead letters, or discard the selected ones. */
export function DeadActions({
  queue,
  selected,
  loaded,
  onSelectAll,
}: {
  readonly queue: string;
  readonly selected: readonly string[];
  readonly loaded: number;
  readonly onSelectAll: () => void;
}) {
  const refusal = useWriteRefusal(useLiveState().phase);
  const action = useAction();
  const [openDialog, setOpenDialog] = useState<"redrive" | "discard" | undefined>();
  const countText = selected.length === 1 ? "1 dead letter" : `${selected.length} dead letters`;
  const run = async (change: () => Promise<unknown>, message: string): Promise<void> => {
    if (!(await action.run(change))) return;
    // Closes only the dialog of this action, because the user may have opened another one while it ran.
    setOpenDialog((now) => (now === openDialog ? undefined : now));
    toast(message);
  };
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-1.5 border-line border-b px-3 py-1.5">
      <Button look="ghost" onClick={onSelectAll}>
        {selected.length === loaded ? "Clear selection" : `Select all ${loaded}`}
      </Button>
      <span className="flex-1" />
      {selected.length > 0 && (
        <>
          <Button
            icon={<RotateCcw aria-hidden className="size-3.5" />}
            disabledReason={refusal}
            isPending={action.isPending && openDialog === undefined}
            onClick={() => void run(() => redrive(queue, selected), `${countText} redriven to ${queue}`)}
          >
            Redrive {selected.length} selected
          </Button>
          <Button
            look="danger"
            icon={<Trash2 aria-hidden className="size-3.5" />}
            disabledReason={refusal}
            onClick={() => setOpenDialog("discard")}
          >
            Discard {selected.length}
          </Button>
        </>
      )}
      <Button
        icon={<RotateCcw aria-hidden className="size-3.5" />}
        disabledReason={refusal}
        onClick={() => setOpenDialog("redrive")}
      >
        Redrive all
      </Button>
      {action.problem !== undefined && (
        <p role="alert" className="w-full text-danger">
          {action.problem}
        </p>
      )}
      {openDialog === "redrive" && (
        <ConfirmDialog
          open
          onClose={() => setOpenDialog(undefined)}
          title="Redrive all dead letters?"
          description={`This puts all dead letters of ${queue} back on the queue, including those not loaded here. Each gets its full number of attempts again.`}
          action="Redrive all"
          isPending={action.isPending}
          refusal={refusal}
          onConfirm={() => void run(() => redriveAll(queue), `All dead letters redriven to ${queue}`)}
        >
          <Problem text={action.problem} />
        </ConfirmDialog>
      )}
      {openDialog === "discard" && (
        <ConfirmDialog
          open
          onClose={() => setOpenDialog(undefined)}
          title={`Discard ${countText}?`}
          description={`This permanently deletes them and their data from ${queue}.`}
          action="Discard"
          isPending={action.isPending}
          refusal={refusal}
          onConfirm={() => void run(() => discard(queue, selected), `${countText} discarded`)}
        >
          <Problem text={action.problem} />
        </ConfirmDialog>
      )}
    </div>
  );
}

function Problem({ text }: { readonly text: string | undefined }) {
  return text === undefined ? null : (
    <p role="alert" className="text-danger">
      {text}
    </p>
  );
}
