import type { JobState, QueueJob } from "@svc/protocol/listings";
import type { HelperOptions } from "../items/item-types.ts";

export type { EndedJob, JobFailure, JobState, QueueJob, QueueStats } from "@svc/protocol/listings";

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
