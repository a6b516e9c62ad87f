import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { t } from "../../labels/translate.ts";
import { bytes } from "../../lib/time.ts";
import { Ago, Duration, Timestamp } from "../../ui/time.tsx";
import type { Job } from "./model.ts";
import { Progress } from "./progress.tsx";

export function TraceLink({ id }: { readonly id: string }) {
  return (
    <Link
      to="/traces/{-$traceId}/{-$spanId}"
      params={{ traceId: id, spanId: undefined }}
      className="inline-block py-1 font-mono text-[12px] text-accent underline"
    >
      {id.slice(0, 16)}…
    </Link>
  );
}

/** Properties of a job. */
export function JobFacts({ job }: { readonly job: Job }) {
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
      <Fact name={t`Function`}>
        {job.function_id === null ? (
          t`triggers of the queue`
        ) : (
          <Link
            to="/functions/{-$functionId}"
            params={{ functionId: job.function_id }}
            className="text-accent underline"
          >
            {job.function_id}
          </Link>
        )}
      </Fact>
      <Fact name={t`Waiting for`}>{job.reason ?? null}</Fact>
      <Fact name={t`Progress`}>{job.progress == null ? null : <Progress progress={job.progress} />}</Fact>
      <Fact name={t`Failed attempts`}>{t`${job.attempts} of ${job.max_attempts}`}</Fact>
      <TimeFact name={t`Added`} iso={job.created_at} />
      <TimeFact name={t`Runs`} iso={job.run_at} />
      <TimeFact name={t`Failed`} iso={job.failed_at} />
      <TimeFact name={t`Ended`} iso={job.ended_at} />
      <Fact name={t`Duration`}>{job.duration_ms === undefined ? null : <Duration ms={job.duration_ms} />}</Fact>
      <TimeFact name={t`Stored until`} iso={job.kept_until} />
      <TimeFact name={t`Expires`} iso={job.expires_at} />
      <Fact name={t`Priority`}>{job.priority === 0 ? null : job.priority}</Fact>
      <Fact name={t`Group`}>{job.group}</Fact>
      <Fact name={t`Deduplication key`}>{job.dedupe_key}</Fact>
      <Fact name={t`Enqueued by`}>{job.made_by?.principal ?? null}</Fact>
      <Fact name={t`Trace`}>{job.trace_id === null ? null : <TraceLink id={job.trace_id} />}</Fact>
      <Fact name={t`Size`}>{bytes(job.bytes)}</Fact>
    </dl>
  );
}

/** A property of a job. If the value is null, nothing is rendered. */
function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  if (children === null) return null;
  return (
    <div className="contents">
      <dt className="text-ink-2">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  );
}

function TimeFact({ name, iso }: { readonly name: string; readonly iso: string | null | undefined }) {
  if (iso == null) return null;
  const ms = Date.parse(iso);
  return (
    <Fact name={name}>
      <Timestamp ms={ms} as="date" />{" "}
      <span className="text-ink-3">
        (<Ago ms={ms} />)
      </span>
    </Fact>
  );
}
