/** Where a job is. `done`, `cancelled` and `expired` ones are gone, but for the record of their dedupe key. */
export type JobState = "waiting" | "delayed" | "active" | "dead";
export type EndedState = "done" | "cancelled" | "expired";

/** What a queue may hold. At a bound nothing old is dropped: adding fails with `queue_full`. */
export interface QueueLimits {
  /** Jobs that wait, are delayed or run. */
  readonly maxDepth: number;
  /** Bytes of data of all jobs, dead ones too. */
  readonly maxBytes: number;
  /** Dead letters from which on nothing is added. */
  readonly maxDead: number;
}

/** The restricted principal that made something; undefined stands for trusted callers and the engine. */
export interface Maker {
  /** E.g. `role guest`, `prefix acme`. */
  readonly principal: string;
  readonly role: string | undefined;
}

/** A job as it is put on a queue. Times are milliseconds since 1970. */
export interface NewJob {
  /** Unique; a UUID. */
  readonly id: string;
  readonly queue: string;
  /** Undefined: for whoever serves the queue. */
  readonly functionId: string | undefined;
  /** JSON. */
  readonly data: string;
  readonly bytes: number;
  /** Undefined: at once. */
  readonly runAt?: number | undefined;
  /** Higher ones come first. */
  readonly priority: number;
  /** Jobs of a group run one after another, in the order of their acceptance; priority does not change that. */
  readonly group?: string | undefined;
  readonly dedupeKey?: string | undefined;
  /** How long the dedupe key is remembered. */
  readonly dedupeWindowMs: number;
  /** Not begun by then, it is dropped and counted as expired. */
  readonly expiresAt?: number | undefined;
  /** `runAt` was asked for as an instant of the wall clock, so it does not move when the clock is set. */
  readonly runAtIsInstant?: boolean | undefined;
  readonly maxAttempts: number;
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
  readonly maker?: Maker | undefined;
  /** The restricted principal that provided the function when `maker` made the job: no function of another may run it. Undefined: anybody's may. */
  readonly provider?: string | undefined;
  readonly limits: QueueLimits;
  /** Where the queue has no room, it is left out, and the others are added. */
  readonly mayBeDropped?: boolean | undefined;
}

/** `duplicate`: the dedupe key was in use, `id` is the job that has it, and nothing was stored. */
export interface AddedJob {
  readonly id: string;
  readonly duplicate: boolean;
  /** The queue had no room for it, in words. */
  readonly dropped?: string | undefined;
}

/** A job in the dispatcher's hands. */
export interface TakenJob {
  /** Its number in the store; another one after a redrive. */
  readonly seq: number;
  readonly id: string;
  readonly queue: string;
  readonly functionId: string | undefined;
  readonly data: string;
  /** Attempts that ran and failed. */
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

/** One attempt that failed. */
export interface FailedAttempt {
  /** Counted from 1. The number of attempts before it where the job was not run. */
  readonly attempt: number;
  readonly at: number;
  readonly code: string;
  readonly message: string;
  readonly stack: string | undefined;
  /** Name and id of the worker that ran it, e.g. `mailer (5f3e…)`; undefined when nobody did. */
  readonly worker: string | undefined;
  readonly traceId: string | undefined;
}

/** A job for people. */
export interface JobView {
  readonly seq: number;
  readonly id: string;
  readonly queue: string;
  readonly functionId: string | undefined;
  readonly state: JobState;
  readonly data: string;
  readonly bytes: number;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly priority: number;
  readonly createdAt: number;
  /** When it may run, of a delayed one. */
  readonly runAt: number | undefined;
  readonly expiresAt: number | undefined;
  readonly group: string | undefined;
  readonly dedupeKey: string | undefined;
  readonly traceparent: string | undefined;
  readonly maker: Maker | undefined;
  /** When it died, of a dead one. */
  readonly failedAt: number | undefined;
  /** Attempts that failed, oldest first; the last 20. The last one of a dead job is why it died. */
  readonly failures: readonly FailedAttempt[];
}

/** What a queue holds, from counts that are kept. */
export interface QueueCounts {
  readonly queue: string;
  /** Ready, or behind another of their group. */
  readonly waiting: number;
  readonly delayed: number;
  readonly active: number;
  readonly dead: number;
  readonly bytes: number;
  readonly paused: boolean;
  /** Since the queue was first used. */
  readonly added: number;
  readonly done: number;
  readonly died: number;
  readonly expired: number;
  readonly cancelled: number;
}

/** A job that could run. Instants are milliseconds since 1970, of the clock as it was then. */
export interface ReadyJob {
  readonly functionId: string | undefined;
  /** At least that of the jobs before it, also if the clock was set back. */
  readonly dueAt: number;
  readonly createdAt: number;
}
