import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { pretty } from "../../lib/json-text.ts";
import { maskedText } from "../../lib/secrets.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { JsonEditor } from "../../ui/json-editor.tsx";
import { toast } from "../../ui/toasts.tsx";
import { dataProblem, type Job } from "./model.ts";
import { redriveWith } from "./queue-api.ts";
import { useAction } from "./use-queues.ts";

/** Dialog that redrives a dead letter with edited data. */
export default function RedriveDialog({
  job,
  onClose,
  onDone,
}: {
  readonly job: Job;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const refusal = useWriteRefusal(useLiveState().phase);
  const action = useAction();
  const [text, setText] = useState(() => pretty(job.json));
  const [isRevealed, setRevealed] = useState(() => maskedText(job.json) === job.json);
  const problem = dataProblem(text, job.json);
  const send = async (): Promise<void> => {
    if (problem !== undefined || !isRevealed || refusal !== undefined) return;
    await action.run(async () => {
      await redriveWith(job.queue, job.job_id, text);
      toast(t`Job redriven with edited data`);
      onClose();
      onDone();
    });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={t`Edit and redrive`}
      description={rich`${<code className="break-all text-ink">{job.job_id}</code>} goes back to ${job.queue} with the data below.`}
      footer={
        <>
          <Button onClick={onClose}>{t`Cancel`}</Button>
          <Button
            look="primary"
            disabledReason={refusal}
            disabled={problem !== undefined || !isRevealed}
            isPending={action.isPending}
            onClick={() => void send()}
          >
            {t`Redrive`}
          </Button>
        </>
      }
    >
      {isRevealed ? (
        <JsonEditor
          label={t`Data of the job`}
          value={text}
          onChange={setText}
          onSubmit={() => void send()}
          className="h-64"
        />
      ) : (
        <p className="flex flex-wrap items-center gap-3 text-ink-2">
          {t`The data contains secrets, which must be revealed for editing.`}{" "}
          <Button onClick={() => setRevealed(true)}>{t`Reveal and edit`}</Button>
        </p>
      )}
      {problem !== undefined && (
        <p role="alert" className="mt-1 text-danger">
          {problem}
        </p>
      )}
      {action.problem !== undefined && (
        <p role="alert" className="mt-1 text-danger">
          {action.problem}
        </p>
      )}
    </Dialog>
  );
}
