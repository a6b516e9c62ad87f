import type { EndedJob, ListedJobState } from "@svc-runtime/protocol/listings";

export type { QueueCounts } from "@svc-runtime/protocol/listings";
/** State of a stored job. */
export type JobState = ListedJobState;
/**
 * How a job ended. `cancelled` and `expired` jobs are deleted at once, `done` jobs some time after their end. After
 * that, the store knows the state only while it remembers the job's dedupe key.
 */
export type EndedState = EndedJob["state"];

/** Limits of a queue. At a limit, adding fails with `queue_full`; accepted jobs are never dropped. */
export interface QueueLimits {
  /** Maximum jobs that wait, are delayed or run. */
  readonly maxDepth: number;
  /** Maximum bytes of data of all jobs, including dead letters. */
  readonly maxBytes: number;
  /** Maximum dead letters. At this limit no job is added. */
  readonly maxDead: number;
}

/** The restricted principal that made a job or message. Undefined means a trusted caller or the engine. */
export interface Maker {
  /** E.g. `role guest`, `prefix acme`. */
  readonly principal: string;
  readonly role: string | undefined;
}

/** A job to add. */
export interface NewJob {
  /** Unique over all queues. */
  readonly id: string;
  readonly queue: string;
  /** Undefined: the `JobServer` of the queue runs the job. */
  readonly functionId: string | undefined;
  /** JSON. */
  readonly data: string;
  readonly bytes: number;
  /** The job does not run before this has passed. Undefined: it runs as soon as possible. */
  readonly delayMs?: number | undefined;
  /**
   * The job does not run before the wall clock of the engine shows this time, in milliseconds since 1970. If `runAt`
   * is set, `delayMs` is ignored.
   */
  readonly runAt?: number | undefined;
  /** Jobs with a higher priority run first. */
  readonly priority: number;
  /** Jobs of a group run one after another in the order of their acceptance, whatever their priority. */
  readonly group?: string | undefined;
  readonly dedupeKey?: string | undefined;
  /** How long the dedupe key is remembered. */
  readonly dedupeWindowMs: number;
  /** A job that has not started in this time is deleted and counted as expired. */
  readonly expiresInMs?: number | undefined;
  readonly maxAttempts: number;
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
  readonly maker?: Maker | undefined;
  /**
   * The restricted principal that provided the function when `maker` made the job. If another principal provides the
   * function later, the job does not run. Undefined: the function of any principal may run the job.
   */
  readonly provider?: string | undefined;
  readonly limits: QueueLimits;
  /** True: if the queue is full, this job is dropped, and the other jobs of the same call are added nevertheless. */
  readonly mayBeDropped?: boolean | undefined;
}

/** If `duplicate`, the dedupe key or the id was in use: `id` is the id of the existing job, and nothing was stored. */
export interface AddedJob {
  readonly id: string;
  readonly duplicate: boolean;
  /** Set if the job was dropped because the queue is full: the reason. */
  readonly dropped?: string | undefined;
}

/** A job that a runner has leased. */
export interface LeasedJob {
  /** Number of the job in the store. A redrive gives the job a new number. */
  readonly seq: number;
  readonly id: string;
  readonly queue: string;
  readonly functionId: string | undefined;
  readonly data: string;
  /** Failed attempts. */
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly createdAt: number;
  readonly group: string | undefined;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  readonly maker: Maker | undefined;
  /** See NewJob. */
  readonly provider: string | undefined;
}

/** A failed attempt. */
export interface FailedAttempt {
  /** Counted from 1. If the job was not run, the number of earlier attempts. */
  readonly attempt: number;
  readonly at: number;
  readonly code: string;
  readonly message: string;
  readonly stack: string | undefined;
  /** Name and id of the worker, e.g. `mailer (5f3e…)`. Undefined if no worker ran the attempt. */
  readonly worker: string | undefined;
  readonly traceId: string | undefined;
}

/** How many done jobs a queue keeps, and for how long. */
export interface KeepDone {
  /** 0: none. */
  readonly count: number;
  readonly ageMs: number;
}

/** The end of a job that succeeded. */
export interface Outcome {
  /** JSON. Undefined: not kept. */
  readonly result: string | undefined;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
  /** Duration of the last attempt. */
  readonly durationMs: number;
}

/** A job as the inspection functions show it. Times are milliseconds since 1970, by the wall clock of the request. */
export interface JobView {
  readonly seq: number;
  readonly id: string;
  readonly queue: string;
  readonly functionId: string | undefined;
  readonly state: JobState;
  /** Undefined for done jobs. */
  readonly data: string | undefined;
  /** Set for done jobs. */
  readonly outcome: Outcome | undefined;
  readonly bytes: number;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly priority: number;
  readonly createdAt: number;
  /** Set for delayed jobs: when the job is due. */
  readonly runAt: number | undefined;
  /** Time at which the job is deleted if it has not started. For a done job: the time until which it is kept. */
  readonly expiresAt: number | undefined;
  readonly group: string | undefined;
  readonly dedupeKey: string | undefined;
  readonly traceparent: string | undefined;
  readonly maker: Maker | undefined;
  /** Set for dead letters: when the job failed for the last time. */
  readonly failedAt: number | undefined;
  /** The last 20 failed attempts, oldest first. The last one is the reason of a dead letter. */
  readonly failures: readonly FailedAttempt[];
}

/** A job that is ready to run. */
export interface ReadyJob {
  readonly functionId: string | undefined;
  /** How long it has been ready, in milliseconds. */
  readonly waitedMs: number;
}
