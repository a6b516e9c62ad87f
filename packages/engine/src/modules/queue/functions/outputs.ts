import type { DoneJob, JobFailure, JobProgress, MadeBy, QueueJob, QueueStats } from "@svc-runtime/protocol/listings";
import { z } from "zod";
import { makerShape } from "../../../kernel/module.ts";
import type { NoWorkerReasonOf } from "../no-worker-reasons.ts";
import type { Progress, QueueCore } from "../queue-core.ts";
import type { FailedAttempt, JobView } from "../store/job.ts";

const time = z.iso.datetime();

export const failureShape = z.object({
  attempt: z.int().meta({ description: "Counted from 1. If the job was not run, the number of earlier attempts" }),
  at: time,
  code: z.string(),
  message: z.string(),
  stack: z.string().nullable(),
  worker: z.string().nullable().meta({ description: "Name and id of the worker that ran the attempt" }),
  trace_id: z.string().nullable(),
}) satisfies z.ZodType<JobFailure>;

const progressShape = z.object({
  value: z.number().meta({ description: "0 to 1" }),
  note: z.string().nullable(),
  at: time,
}) satisfies z.ZodType<JobProgress>;

const commonMembers = {
  job_id: z.string(),
  queue: z.string(),
  function_id: z.string().nullable(),
  attempts: z.int().meta({ description: "Failed attempts" }),
  max_attempts: z.int(),
  priority: z.int(),
  created_at: time,
  group: z.string().nullable(),
  dedupe_key: z.string().nullable(),
  made_by: makerShape,
  trace_id: z.string().nullable(),
  bytes: z.int().meta({ description: "Size of the data" }),
  failures: z.array(failureShape).meta({ description: "The last 20 failed attempts, oldest first" }),
};

export const jobShape = z.object({
  ...commonMembers,
  state: z.enum(["waiting", "delayed", "active", "dead"]),
  run_at: time.nullable().meta({ description: "Set for delayed jobs" }),
  expires_at: time.nullable(),
  failed_at: time.nullable().meta({ description: "Set for dead letters" }),
  reason: z
    .string()
    .nullable()
    .meta({ description: "Why no worker can run the job now, e.g. nobody provides its function. Null if one can" }),
  progress: progressShape.nullable().meta({ description: "What the running attempt reported last" }),
  data: z.unknown(),
}) satisfies z.ZodType<QueueJob>;

export const doneJobShape = z.object({
  ...commonMembers,
  state: z.literal("done"),
  ended_at: time,
  duration_ms: z.int().meta({ description: "Duration of the last attempt" }),
  kept_until: time.meta({ description: "The job is deleted then, or earlier if keep_completed.count is reached" }),
  result_kept: z.boolean().meta({ description: "False if the result was larger than 64 KiB; `result` is null then" }),
  result: z.unknown(),
}) satisfies z.ZodType<DoneJob>;

export const statsShape = z.object({
  queue: z.string(),
  waiting: z.int().meta({ description: "Ready, or blocked by an earlier job of their group" }),
  delayed: z.int(),
  active: z.int(),
  dead: z.int(),
  bytes: z.int().meta({ description: "Size of the data of all its jobs" }),
  paused: z.boolean(),
  added: z.int().meta({ description: "This and the following counts start when the queue is first used" }),
  done: z.int(),
  died: z.int(),
  expired: z.int(),
  cancelled: z.int(),
  kept: z.int().meta({ description: "Done jobs that are kept" }),
  waiting_reasons: z.array(z.string()).meta({
    description: "Why no worker can run some of the oldest waiting jobs, e.g. nobody provides their function",
  }),
  type: z.enum(["standard", "fifo"]).nullable().meta({ description: "Null if the queue is not declared" }),
  concurrency: z.int().nullable(),
  topic: z.string().nullable().meta({ description: "The topic, if the queue belongs to a subscription" }),
}) satisfies z.ZodType<QueueStats>;

/** Returns the job's maker in the form of `makerShape`. */
export function madeBy({ maker }: JobView): MadeBy {
  return maker === undefined ? null : { principal: maker.principal, role: maker.role ?? null };
}

/** Returns a job as JSON. Data and result are copied unchanged, so that numbers keep all digits. */
export function jobJson(
  job: JobView,
  { reasonOf, core }: { readonly reasonOf: NoWorkerReasonOf; readonly core: Pick<QueueCore, "progressOf"> },
): string {
  const common = {
    job_id: job.id,
    queue: job.queue,
    function_id: job.functionId ?? null,
    state: job.state,
    attempts: job.attempts,
    max_attempts: job.maxAttempts,
    priority: job.priority,
    created_at: new Date(job.createdAt).toISOString(),
    group: job.group ?? null,
    dedupe_key: job.dedupeKey ?? null,
    made_by: madeBy(job),
    trace_id: traceIdOf(job) ?? null,
    bytes: job.bytes,
    failures: job.failures.map(failureOutput),
  };
  if (job.outcome !== undefined) {
    const { result, endedAt, durationMs } = job.outcome;
    const members = {
      ...common,
      ended_at: timeText(endedAt),
      duration_ms: durationMs,
      kept_until: timeText(job.expiresAt),
      result_kept: result !== undefined,
    };
    return withRawMember(members, "result", result ?? "null");
  }
  const members = {
    ...common,
    run_at: timeText(job.runAt),
    expires_at: timeText(job.expiresAt),
    failed_at: timeText(job.failedAt),
    reason: job.state === "waiting" ? (reasonOf(job.queue, job.functionId) ?? null) : null,
    progress: job.state === "active" ? progressOutput(core.progressOf(job.queue, job.seq)) : null,
  };
  return withRawMember(members, "data", job.data ?? "null");
}

function progressOutput(progress: Progress | undefined): JobProgress | null {
  if (progress === undefined) return null;
  const { value, note, at } = progress;
  return { value, note: note ?? null, at: new Date(at).toISOString() };
}

export function failureOutput({ attempt, at, code, message, stack, worker, traceId }: FailedAttempt): JobFailure {
  return {
    attempt,
    at: new Date(at).toISOString(),
    code,
    message,
    stack: stack ?? null,
    worker: worker ?? null,
    trace_id: traceId ?? null,
  };
}

/** Returns the trace id of the job. If the job has none, returns the trace id of its last failed attempt. */
export function traceIdOf({ traceparent, failures }: Pick<JobView, "traceparent" | "failures">): string | undefined {
  return traceparent?.slice(3, 35) ?? failures.at(-1)?.traceId;
}

/** Returns the JSON of a non-empty object with one more member, whose value is JSON already. */
export function withRawMember(members: Readonly<Record<string, unknown>>, name: string, json: string): string {
  return `${JSON.stringify(members).slice(0, -1)},${JSON.stringify(name)}:${json}}`;
}

function timeText(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
