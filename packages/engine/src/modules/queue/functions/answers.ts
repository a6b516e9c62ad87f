import { z } from "zod";
import { makerShape } from "../../../kernel/module.ts";
import type { FailedAttempt, JobView, QueueCounts } from "../store/job.ts";

const time = z.iso.datetime();

export const failureShape = z.object({
  attempt: z.int().meta({ description: "Counted from 1; of a job that was not run, the number of attempts before" }),
  at: time,
  code: z.string(),
  message: z.string(),
  stack: z.string().nullable(),
  worker: z.string().nullable().meta({ description: "Name and id of the worker that ran it" }),
  trace_id: z.string().nullable(),
});

export const jobShape = z.object({
  job_id: z.string(),
  queue: z.string(),
  function_id: z.string().nullable(),
  state: z.enum(["waiting", "delayed", "active", "dead"]),
  attempts: z.int().meta({ description: "Attempts that ran and failed" }),
  max_attempts: z.int(),
  priority: z.int(),
  created_at: time,
  run_at: time.nullable().meta({ description: "Of a delayed one" }),
  expires_at: time.nullable(),
  group: z.string().nullable(),
  dedupe_key: z.string().nullable(),
  made_by: makerShape,
  failed_at: time.nullable().meta({ description: "Of a dead one" }),
  trace_id: z.string().nullable(),
  bytes: z.int().meta({ description: "Of its data" }),
  failures: z.array(failureShape).meta({ description: "The last 20 attempts that failed, oldest first" }),
  data: z.unknown(),
});

export const statsShape = z.object({
  queue: z.string(),
  waiting: z.int().meta({ description: "Ready, or behind another of their group" }),
  delayed: z.int(),
  active: z.int(),
  dead: z.int(),
  bytes: z.int().meta({ description: "Of the data of all of them" }),
  paused: z.boolean(),
  added: z.int().meta({ description: "This and what follows: since the queue was first used" }),
  done: z.int(),
  died: z.int(),
  expired: z.int(),
  cancelled: z.int(),
  type: z.enum(["standard", "fifo"]).nullable().meta({ description: "Null: the queue holds something, but is not declared" }),
  concurrency: z.int().nullable(),
  topic: z.string().nullable().meta({ description: "Where it is the queue of a subscription: its topic" }),
});

export interface StatsMore {
  readonly type: "standard" | "fifo" | null;
  readonly concurrency: number | null;
  readonly topic: string | null;
}

export function statsAnswer({ queue, ...counts }: QueueCounts, more: StatsMore): Readonly<Record<string, unknown>> {
  return { queue, ...counts, ...more };
}

/** As `makerShape` has it. */
export function madeBy({ maker }: JobView): z.input<typeof makerShape> {
  return maker === undefined ? null : { principal: maker.principal, role: maker.role ?? null };
}

/** A job as JSON. Its data stands there as it came, to the digit. */
export function jobText(job: JobView): string {
  const members = {
    job_id: job.id,
    queue: job.queue,
    function_id: job.functionId ?? null,
    state: job.state,
    attempts: job.attempts,
    max_attempts: job.maxAttempts,
    priority: job.priority,
    created_at: timeText(job.createdAt),
    run_at: timeText(job.runAt),
    expires_at: timeText(job.expiresAt),
    group: job.group ?? null,
    dedupe_key: job.dedupeKey ?? null,
    made_by: madeBy(job),
    failed_at: timeText(job.failedAt),
    trace_id: traceIdOf(job) ?? null,
    bytes: job.bytes,
    failures: job.failures.map(failureAnswer),
  };
  return withRawMember(members, "data", job.data);
}

export function failureAnswer({ attempt, at, code, message, stack, worker, traceId }: FailedAttempt): z.input<typeof failureShape> {
  return { attempt, at: new Date(at).toISOString(), code, message, stack: stack ?? null, worker: worker ?? null, trace_id: traceId ?? null };
}

/** The trace that the job came with, else that of its last attempt. */
export function traceIdOf({ traceparent, failures }: Pick<JobView, "traceparent" | "failures">): string | undefined {
  return traceparent?.slice(3, 35) ?? failures.at(-1)?.traceId;
}

/** JSON of an object that is not empty, with one more member that is JSON already. */
export function withRawMember(members: Readonly<Record<string, unknown>>, name: string, json: string): string {
  return `${JSON.stringify(members).slice(0, -1)},${JSON.stringify(name)}:${json}}`;
}

function timeText(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
