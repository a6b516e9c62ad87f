import type { HelperOptions } from "../items/item-types.ts";

/** Options of a new job. Omitted options default to the queue's settings. */
export interface JobOptions {
  /** Minimum delay before it runs, in milliseconds. Not together with `runAt`. */
  readonly delayMs?: number | undefined;
  /**
   * Earliest time at which it runs: a Date, or an RFC 3339 string, e.g. `2026-03-01T09:00:00Z`. Other values reject
   * with TypeError.
   */
  readonly runAt?: Date | string | undefined;
  /** Higher priorities run first. Default 0. */
  readonly priority?: number | undefined;
  /** If a job with the same key was added within the last 10 minutes, nothing is stored and that job is returned. */
  readonly dedupeKey?: string | undefined;
  /** Milliseconds after which a job that has not started is dropped. */
  readonly expiresInMs?: number | undefined;
  /** Jobs of one group run one at a time, in order. Groups run concurrently. */
  readonly group?: string | undefined;
  /** Number of attempts before the job moves to the dead-letter queue. */
  readonly maxAttempts?: number | undefined;
}

export interface EnqueueOptions extends JobOptions, HelperOptions {}

/** One job of `enqueueMany`. */
export interface JobToEnqueue extends JobOptions {
  readonly queue: string;
  /** Null for the queue's triggers. */
  readonly functionId: string | null;
  readonly data: unknown;
}

export interface EnqueuedJob {
  /** Id of the job on the queue. If `duplicate` is true, that of the first job. */
  readonly job_id: string;
  /** Whether the dedupe key was in use, so that nothing was stored. */
  readonly duplicate: boolean;
}

export type JobState = "waiting" | "delayed" | "active" | "dead";

/** One failed attempt. */
export interface JobFailure {
  /** Starts at 1. */
  readonly attempt: number;
  readonly at: string;
  readonly code: string;
  readonly message: string;
  readonly stack: string | null;
  /** Name and id of the worker that ran it. */
  readonly worker: string | null;
  readonly trace_id: string | null;
}

/** A job on a queue. Times are RFC 3339. */
export interface QueueJob<Data = unknown> {
  readonly job_id: string;
  readonly queue: string;
  readonly function_id: string | null;
  readonly state: JobState;
  readonly data: Data;
  /** Number of failed attempts. */
  readonly attempts: number;
  readonly max_attempts: number;
  readonly priority: number;
  readonly created_at: string;
  /** Earliest start of a delayed job. */
  readonly run_at: string | null;
  readonly expires_at: string | null;
  readonly group: string | null;
  readonly dedupe_key: string | null;
  /**
   * The restricted principal that created the job, e.g. `role guest`, and its role. Null for a trusted caller. Absent
   * on older engines.
   */
  readonly made_by?: { readonly principal: string; readonly role: string | null } | null;
  /** Time at which a dead job failed for the last time. */
  readonly failed_at: string | null;
  readonly trace_id: string | null;
  /** Size of its data, in bytes. */
  readonly bytes: number;
  /** The last 20 failures, oldest first. The last one of a dead job is the reason why it is dead. */
  readonly failures: readonly JobFailure[];
}

/** A job that has ended. It is kept as long as its dedupe key. */
export interface EndedJob {
  readonly job_id: string;
  readonly queue: string;
  readonly state: "done" | "cancelled" | "expired";
}

/** Contents of a queue, and counts of its jobs since it was first used. */
export interface QueueStats {
  readonly queue: string;
  /** Jobs that are ready or wait for another job of their group. */
  readonly waiting: number;
  readonly delayed: number;
  readonly active: number;
  readonly dead: number;
  readonly bytes: number;
  readonly paused: boolean;
  readonly added: number;
  readonly done: number;
  readonly died: number;
  readonly expired: number;
  readonly cancelled: number;
  /** Null if the queue has jobs but is not declared. */
  readonly type: "standard" | "fifo" | null;
  readonly concurrency: number | null;
  /** Topic, if it is the queue of a subscription. */
  readonly topic: string | null;
}

export interface PeekOptions extends HelperOptions {
  /** Default `waiting`. */
  readonly state?: JobState | undefined;
  /** `cursor` of the previous page. */
  readonly cursor?: string | undefined;
  /** Maximum jobs per page. */
  readonly limit?: number | undefined;
}

export interface JobPage<Data = unknown> {
  readonly jobs: readonly QueueJob<Data>[];
  /** Null on the last page. */
  readonly cursor: string | null;
}

export interface RedriveOptions extends HelperOptions {
  /**
   * Ids of the dead-letter entries to redrive. An unknown id is an error, and then nothing is redriven. Default: all.
   */
  readonly jobIds?: readonly string[] | undefined;
  /** Replaces the data of the jobs. */
  readonly payload?: unknown;
}
