import { useState } from "react";
import { useWriteRefusal } from "../../app/hello.tsx";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import type { Job } from "./model.ts";
import { cancelJob, discard, redrive } from "./queue-api.ts";
import { RedriveDialog } from "./redrive-dialog.tsx";
import { useAction } from "./use-queues.ts";

/** Of a dead letter: redrive, with other data too, and discard. Of any other job: cancel. */
export function JobActions({ job, onGone }: { readonly job: Job; readonly onGone: () => void }) {
  const refusal = useWriteRefusal(useLiveState().phase);
  const action = useAction();
  const [asking, setAsking] = useState<"edit" | "discard" | "cancel" | undefined>();
  const run = async (what: () => Promise<unknown>, said: string): Promise<void> => {
    // The job is left at once: asked for again, it may be there no more.
    const leave = async (): Promise<void> => {
      await what();
      setAsking(undefined);
      toast(said);
      onGone();
    };
    await action.run(leave);
  };
  const isDead = job.state === "dead";
  return (
    <div className="flex flex-wrap items-center gap-2">
      {isDead ? (
        <>
          <Button
            look="primary"
            disabledReason={refusal}
            isPending={action.isPending && asking === undefined}
            onClick={() => void run(() => redrive(job.queue, [job.job_id]), "The job is back on its queue")}
          >
            Redrive
          </Button>
          <Button disabledReason={refusal} onClick={() => setAsking("edit")}>
            Edit and redrive …
          </Button>
          <Button look="danger" disabledReason={refusal} onClick={() => setAsking("discard")}>
            Discard …
          </Button>
        </>
      ) : (
        <Button look="danger" disabledReason={refusal} onClick={() => setAsking("cancel")}>
          Cancel the job …
        </Button>
      )}
      {action.problem !== undefined && asking === undefined && (
        <p role="alert" className="w-full text-danger">
          {action.problem}
        </p>
      )}
      {asking === "edit" && <RedriveDialog job={job} onClose={() => setAsking(undefined)} onDone={onGone} />}
      {(asking === "discard" || asking === "cancel") && (
        <ConfirmDialog
          open
          onClose={() => {
            setAsking(undefined);
            action.clear();
          }}
          title={isDead ? "Discard this dead letter?" : "Cancel this job?"}
          description={
            <>
              <code className="break-all text-ink">{job.job_id}</code>{" "}
              {isDead
                ? "is taken out for good; its data is gone."
                : job.state === "active"
                  ? "is withdrawn from the worker that runs it."
                  : "is taken out of its queue."}
            </>
          }
          action={isDead ? "Discard" : "Cancel the job"}
          isPending={action.isPending}
          refusal={refusal}
          onConfirm={() =>
            void run(
              () => (isDead ? discard(job.queue, [job.job_id]) : cancelJob(job.job_id)),
              isDead ? "The dead letter is discarded" : "The job is cancelled",
            )
          }
        >
          {action.problem !== undefined && (
            <p role="alert" className="text-danger">
              {action.problem}
            </p>
          )}
        </ConfirmDialog>
      )}
    </div>
  );
}
