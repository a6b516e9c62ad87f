import { ArrowLeft } from "lucide-react";
import { t } from "../../labels/translate.ts";
import { ApiFailure } from "../../lib/api.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { JobActions } from "./job-actions.tsx";
import { JobFacts } from "./job-facts.tsx";
import { JobFailures } from "./job-failures.tsx";
import { useJob } from "./use-queues.ts";

const STATES: Readonly<Record<string, { readonly tone: Tone; readonly label: string }>> = {
  waiting: { tone: "info", label: t`Waiting` },
  active: { tone: "accent", label: t`In flight` },
  delayed: { tone: "violet", label: t`Delayed` },
  dead: { tone: "danger", label: t`Dead letter` },
  done: { tone: "ok", label: t`Done` },
  cancelled: { tone: "neutral", label: t`Cancelled` },
  expired: { tone: "neutral", label: t`Expired` },
};

/** Details of a job: state, actions, failed attempts and data. */
export default function JobDetail({ jobId, onClose }: { readonly jobId: string; readonly onClose: () => void }) {
  const query = useJob(jobId);
  const job = query.data;
  const isNotFound = query.error instanceof ApiFailure && query.error.code === "job_not_found";
  const state = STATES[isNotFound ? "" : (job?.state ?? "")];
  return (
    <section aria-label={t`Job`} className="flex min-h-0 flex-1 flex-col overflow-auto">
      <div className="sticky top-0 z-10 flex items-center gap-2 border-line border-b bg-surface px-2 py-1.5">
        <Button look="ghost" icon={<ArrowLeft aria-hidden className="size-4" />} onClick={onClose}>
          {t`Jobs`}
        </Button>
        <code className="min-w-0 truncate" title={jobId}>
          {jobId}
        </code>
        <CopyButton text={jobId} label={t`Copy the ID`} />
        {state !== undefined && <Badge tone={state.tone}>{state.label}</Badge>}
      </div>
      <DataRegion
        loading={query.data === undefined && !isNotFound}
        error={isNotFound ? null : query.error}
        retry={() => void query.refetch()}
        empty={isNotFound}
        emptyState={
          <EmptyState title={t`Job not found`}>
            {t`It has completed or was removed, and is no longer stored.`}
          </EmptyState>
        }
        className="gap-3 p-3"
      >
        {job === undefined ? null : !("json" in job) ? (
          <p className="text-ink-2">{t`This job has completed. The engine stores only its ID and state.`}</p>
        ) : (
          <>
            {job.state !== "done" && <JobActions job={job} onGone={onClose} />}
            <JobFacts job={job} />
            {job.failures.length > 0 && <JobFailures failures={job.failures} />}
            <div>
              <h3 className="mb-1 font-medium">{job.state === "done" ? t`Result` : t`Data`}</h3>
              {job.result_kept === false ? (
                <p className="text-ink-2">{t`The result is larger than 64 KiB, so the engine does not store it.`}</p>
              ) : (
                <JsonView text={job.json} name={`job-${job.job_id}`} />
              )}
            </div>
          </>
        )}
      </DataRegion>
    </section>
  );
}
