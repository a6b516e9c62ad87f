import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import type { Job } from "./model.ts";
import { cancelJob, discard, redrive } from "./queue-api.ts";
import RedriveDialog from "./redrive-dialog.tsx";
import { useAction } from "./use-queues.ts";

/** Buttons that redrive or discard a dead letter, or cancel any other job. */
export function JobActions({ job, onGone }: { readonly job: Job; readonly onGone: () => void }) {
  const refusal = useWriteRefusal(useLiveState().phase);
  const action = useAction();
  const [openDialog, setOpenDialog] = useState<"edit" | "discard" | "cancel" | undefined>();
  const run = async (change: () => Promise<unknown>, message: string): Promise<void> => {
    await action.run(async () => {
      await change();
      setOpenDialog(undefined);
      toast(message);
      // Closes the job before the data is loaded again, because it may no longer exist.
      onGone();
    });
  };
  const isDead = job.state === "dead";
  return (
    <div className="flex flex-wrap items-center gap-2">
      {isDead ? (
        <>
          <Button
            look="primary"
            disabledReason={refusal}
            isPending={action.isPending && openDialog === undefined}
            onClick={() => void run(() => redrive(job.queue, [job.job_id]), "Job redriven")}
          >
            Redrive
          </Button>
          <Button disabledReason={refusal} onClick={() => setOpenDialog("edit")}>
            Edit and redrive …
          </Button>
          <Button look="danger" disabledReason={refusal} onClick={() => setOpenDialog("discard")}>
            Discard …
          </Button>
        </>
      ) : (
        <Button look="danger" disabledReason={refusal} onClick={() => setOpenDialog("cancel")}>
          Cancel the job …
        </Button>
      )}
      {action.problem !== undefined && openDialog === undefined && (
        <p role="alert" className="w-full text-danger">
          {action.problem}
        </p>
      )}
      {openDialog === "edit" && <RedriveDialog job={job} onClose={() => setOpenDialog(undefined)} onDone={onGone} />}
      {(openDialog === "discard" || openDialog === "cancel") && (
        <ConfirmDialog
          open
          onClose={() => {
            setOpenDialog(undefined);
            action.clear();
          }}
          title={isDead ? "Discard this dead letter?" : "Cancel this job?"}
          description={
            <>
              <code className="break-all text-ink">{job.job_id}</code>{" "}
              {isDead
                ? "is permanently deleted with its data."
                : job.state === "active"
                  ? "is cancelled on the worker that runs it."
                  : "is removed from its queue."}
            </>
          }
          action={isDead ? "Discard" : "Cancel the job"}
          isPending={action.isPending}
          refusal={refusal}
          onConfirm={() =>
            void run(
              () => (isDead ? discard(job.queue, [job.job_id]) : cancelJob(job.job_id)),
              isDead ? "Dead letter discarded" : "Job cancelled",
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
