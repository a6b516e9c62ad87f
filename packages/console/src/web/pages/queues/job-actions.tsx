import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
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
      // The details are closed before the data is loaded again, because the job may no longer exist.
      onGone();
    });
  };
  const isDead = job.state === "dead";
  const id = <code className="break-all text-ink">{job.job_id}</code>;
  return (
    <div className="flex flex-wrap items-center gap-2">
      {isDead ? (
        <>
          <Button
            look="primary"
            disabledReason={refusal}
            isPending={action.isPending && openDialog === undefined}
            onClick={() => void run(() => redrive(job.queue, [job.job_id]), t`Job redriven`)}
          >
            {t`Redrive`}
          </Button>
          <Button disabledReason={refusal} onClick={() => setOpenDialog("edit")}>
            {t`Edit and redrive …`}
          </Button>
          <Button look="danger" disabledReason={refusal} onClick={() => setOpenDialog("discard")}>
            {t`Discard …`}
          </Button>
        </>
      ) : (
        <Button look="danger" disabledReason={refusal} onClick={() => setOpenDialog("cancel")}>
          {t`Cancel the job …`}
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
          title={isDead ? t`Discard this dead letter?` : t`Cancel this job?`}
          description={
            isDead
              ? rich`${id} is permanently deleted with its data.`
              : job.state === "active"
                ? rich`${id} is cancelled on the worker that runs it.`
                : rich`${id} is removed from its queue.`
          }
          action={isDead ? t`Discard` : t`Cancel the job`}
          isPending={action.isPending}
          refusal={refusal}
          onConfirm={() =>
            void run(
              () => (isDead ? discard(job.queue, [job.job_id]) : cancelJob(job.job_id)),
              isDead ? t`Dead letter discarded` : t`Job cancelled`,
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
