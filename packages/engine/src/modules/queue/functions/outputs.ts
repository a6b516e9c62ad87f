import type { JobFailure, MadeBy, QueueJob, QueueStats } from "@svc/protocol/listings";
import { z } from "zod";
import { makerShape } from "../../../kernel/module.ts";
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

export const jobShape = z.object({
  job_id: z.string(),
  queue: z.string(),
  function_id: z.string().nullable(),
  state: z.enum(["waiting", "delayed", "active", "dead"]),
  attempts: z.int().meta({ description: "Failed attempts" }),
  max_attempts: z.int(),
  priority: z.int(),
  created_at: time,
  run_at: time.nullable().meta({ description: "Set for delayed jobs" }),
  expires_at: time.nullable(),
  group: z.string().nullable(),
  dedupe_key: z.string().nullable(),
  made_by: makerShape,
  failed_at: time.nullable().meta({ description: "Set for dead letters" }),
  trace_id: z.string().nullable(),
  bytes: z.int().meta({ description: "Size of the data" }),
  failures: z.array(failureShape).meta({ description: "The last 20 failed attempts, oldest first" }),
  data: z.unknown(),
}) satisfies z.ZodType<QueueJob>;

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
  type: z.enum(["standard", "fifo"]).nullable().meta({ description: "Null if the queue is not declared" }),
  concurrency: z.int().nullable(),
  topic: z.string().nullable().meta({ description: "The topic, if the queue belongs to a subscription" }),
}) satisfies z.ZodType<QueueStats>;

/** Returns the job's maker in the form of `makerShape`. */
export function madeBy({ maker }: JobView): MadeBy {
  return maker === undefined ? null : { principal: maker.principal, role: maker.role ?? null };
}

/** Returns a job as JSON. The data is copied unchanged, so that numbers keep all digits. */
export function jobJson(job: JobView): string {
  const members = {
    job_id: job.id,
    queue: job.queue,
    function_id: job.functionId ?? null,
    state: job.state,
    attempts: job.attempts,
    max_attempts: job.maxAttempts,
    priority: job.priority,
    created_at: new Date(job.createdAt).toISOString(),
    run_at: timeText(job.runAt),
    expires_at: timeText(job.expiresAt),
    group: job.group ?? null,
    dedupe_key: job.dedupeKey ?? null,
    made_by: madeBy(job),
    failed_at: timeText(job.failedAt),
    trace_id: traceIdOf(job) ?? null,
    bytes: job.bytes,
    failures: job.failures.map(failureOutput),
  } satisfies Omit<QueueJob, "data">;
  return withRawMember(members, "data", job.data);
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

/** Returns the trace id of the job, or else of its last attempt. */
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
