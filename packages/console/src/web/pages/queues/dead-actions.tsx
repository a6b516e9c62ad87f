import { RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import { useWriteRefusal } from "../../app/hello.tsx";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import { discard, redrive, redriveAll } from "./queue-api.ts";
import { useAction } from "./use-queues.ts";

/** What can be done with dead letters: put back some or all, throw some away. */
export function DeadActions({
  queue,
  chosen,
  loaded,
  onChooseAll,
}: {
  readonly queue: string;
  readonly chosen: readonly string[];
  readonly loaded: number;
  readonly onChooseAll: () => void;
}) {
  const refusal = useWriteRefusal(useLiveState().phase);
  const action = useAction();
  const [asking, setAsking] = useState<"redrive" | "discard" | undefined>();
  const letters = chosen.length === 1 ? "1 dead letter" : `${chosen.length} dead letters`;
  const run = async (what: () => Promise<unknown>, said: string): Promise<void> => {
    if (!(await action.run(what))) return;
    // Closes only the dialog that this action came from: another may have been opened while it ran.
    setAsking((now) => (now === asking ? undefined : now));
    toast(said);
  };
  const back = `put back on ${queue}`;
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-1.5 border-line border-b px-3 py-1.5">
      <Button look="ghost" onClick={onChooseAll}>
        {chosen.length === loaded ? "Choose none" : `Choose all ${loaded}`}
      </Button>
      <span className="flex-1" />
      {chosen.length > 0 && (
        <>
          <Button
            icon={<RotateCcw aria-hidden className="size-3.5" />}
            disabledReason={refusal}
            isPending={action.isPending && asking === undefined}
            onClick={() => void run(() => redrive(queue, chosen), `${letters} ${back}`)}
          >
            Redrive {chosen.length} chosen
          </Button>
          <Button look="danger" icon={<Trash2 aria-hidden className="size-3.5" />} disabledReason={refusal} onClick={() => setAsking("discard")}>
            Discard {chosen.length}
          </Button>
        </>
      )}
      <Button icon={<RotateCcw aria-hidden className="size-3.5" />} disabledReason={refusal} onClick={() => setAsking("redrive")}>
        Redrive all
      </Button>
      {action.problem !== undefined && (
        <p role="alert" className="w-full text-danger">
          {action.problem}
        </p>
      )}
      {asking === "redrive" && (
        <ConfirmDialog
          open
          onClose={() => setAsking(undefined)}
          title="Redrive all dead letters?"
          description={`Every dead letter of ${queue}, also those not shown, goes back on the queue with all its attempts before it.`}
          action="Redrive all"
          isPending={action.isPending}
          refusal={refusal}
          onConfirm={() => void run(() => redriveAll(queue), `All dead letters are ${back}`)}
        >
          <Problem text={action.problem} />
        </ConfirmDialog>
      )}
      {asking === "discard" && (
        <ConfirmDialog
          open
          onClose={() => setAsking(undefined)}
          title={`Discard ${letters}?`}
          description={`They are taken out of ${queue} for good; their data is gone.`}
          action="Discard"
          isPending={action.isPending}
          refusal={refusal}
          onConfirm={() => void run(() => discard(queue, chosen), `${letters} discarded`)}
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
