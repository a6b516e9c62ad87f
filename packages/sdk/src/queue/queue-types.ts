import type {
  JobProgress,
  JobState,
  ListedJobState,
  QueueStats as ListedStats,
  MadeBy,
} from "@svc-runtime/protocol/listings";
import type { HelperOptions } from "../items/item-types.ts";

export type { JobProgress, JobState } from "@svc-runtime/protocol/listings";

/** Contents of a queue, and counts of its jobs since the queue was first used. */
export interface QueueStats extends Omit<ListedStats, "waiting_reasons"> {
  /** Reasons why no worker can run some of the oldest waiting jobs. Absent on older engines. */
  readonly waitingReasons?: readonly string[];
}

/** Options of a new job. Omitted options default to the queue's settings. */
export interface JobOptions {
  /** Minimum delay before the job runs, in milliseconds. Cannot be used together with `runAt`. */
  readonly delayMs?: number | undefined;
  /**
   * Earliest time at which the job runs: a Date, or a string in RFC 3339, for example `2026-03-01T09:00:00Z`. For other
   * values, the method rejects with TypeError.
   */
  readonly runAt?: Date | string | undefined;
  /** Higher priorities run first. Default 0. */
  readonly priority?: number | undefined;
  /**
   * If a job with the same key was added within the last 10 minutes, no job is stored and the earlier job is returned.
   */
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
  /** Id of the function to call. Null for a job that the queue's triggers get. */
  readonly functionId: string | null;
  readonly data: unknown;
}

export interface EnqueuedJob {
  /** Id of the job. If `duplicate` is true, it is the id of the earlier job. */
  readonly jobId: string;
  /** True if the dedupe key was in use, so that no job was stored. */
  readonly duplicate: boolean;
  /** @deprecated Use `jobId`. */
  readonly job_id: string;
}

/** One failed attempt. */
export interface JobFailure {
  /** Number of the attempt, starting at 1. */
  readonly attempt: number;
  readonly at: string;
  readonly code: string;
  readonly message: string;
  readonly stack: string | null;
  /** Name and id of the worker that ran the attempt. */
  readonly worker: string | null;
  readonly traceId: string | null;
  /** @deprecated Use `traceId`. */
  readonly trace_id: string | null;
}

/** A job on a queue. Times are RFC 3339. */
export interface QueueJob<Data = unknown> {
  readonly jobId: string;
  readonly queue: string;
  readonly functionId: string | null;
  readonly state: JobState;
  readonly data: Data;
  /** Number of failed attempts. */
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly priority: number;
  readonly createdAt: string;
  /** Earliest start of a delayed job. */
  readonly runAt: string | null;
  readonly expiresAt: string | null;
  readonly group: string | null;
  readonly dedupeKey: string | null;
  /** Absent on older engines. */
  readonly madeBy?: MadeBy;
  /** Time at which a dead job failed for the last time. */
  readonly failedAt: string | null;
  readonly traceId: string | null;
  /** Size of its data, in bytes. */
  readonly bytes: number;
  /** The last 20 failures, oldest first. The last one of a dead job is the reason why it is dead. */
  readonly failures: readonly JobFailure[];
  /**
   * Why no worker can run the job now, for example because no worker provides its function. Null if a worker can run
   * it. Absent on older engines.
   */
  readonly reason?: string | null;
  /** Last progress report of the running attempt. Absent on older engines. */
  readonly progress?: JobProgress | null;
  /** @deprecated Use `jobId`. */
  readonly job_id: string;
  /** @deprecated Use `functionId`. */
  readonly function_id: string | null;
  /** @deprecated Use `maxAttempts`. */
  readonly max_attempts: number;
  /** @deprecated Use `createdAt`. */
  readonly created_at: string;
  /** @deprecated Use `runAt`. */
  readonly run_at: string | null;
  /** @deprecated Use `expiresAt`. */
  readonly expires_at: string | null;
  /** @deprecated Use `dedupeKey`. */
  readonly dedupe_key: string | null;
  /** @deprecated Use `madeBy`. */
  readonly made_by?: MadeBy;
  /** @deprecated Use `failedAt`. */
  readonly failed_at: string | null;
  /** @deprecated Use `traceId`. */
  readonly trace_id: string | null;
}

type OnlyWaiting = "state" | "data" | "runAt" | "expiresAt" | "failedAt" | "reason" | "progress";
type OnlyWaitingOldNames = "run_at" | "expires_at" | "failed_at";

/**
 * A job that succeeded. The queue keeps the latest of these jobs; see `keep_completed` in the queue's config. Times are
 * RFC 3339.
 */
export interface DoneJob<Result = unknown> extends Omit<QueueJob, OnlyWaiting | OnlyWaitingOldNames> {
  readonly state: "done";
  /** Result of the function. Null if it was not kept. */
  readonly result: Result;
  /** False if the result was larger than 64 KiB. */
  readonly resultKept: boolean;
  readonly endedAt: string;
  /** Duration of the last attempt. */
  readonly durationMs: number;
  /** Time at which the job is deleted. It may be deleted earlier if newer jobs take its place. */
  readonly keptUntil: string;
}

/** A job that has ended. Only its dedupe key is still kept. */
export interface EndedJob {
  readonly jobId: string;
  readonly queue: string;
  readonly state: "done" | "cancelled" | "expired";
  /** @deprecated Use `jobId`. */
  readonly job_id: string;
}

export interface PeekOptions<State extends ListedJobState = JobState> extends HelperOptions {
  /** Default `waiting`. */
  readonly state?: State | undefined;
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

export interface DoneJobPage<Result = unknown> {
  /** The latest first. */
  readonly jobs: readonly DoneJob<Result>[];
  /** Null on the last page. */
  readonly cursor: string | null;
}

export interface RedriveOptions extends HelperOptions {
  /** Ids of the dead letters to redrive. If an id is unknown, the method rejects and redrives nothing. Default: all. */
  readonly jobIds?: readonly string[] | undefined;
  /** New data for the jobs, which replaces their old data. */
  readonly payload?: unknown;
}
