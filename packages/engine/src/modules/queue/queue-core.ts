import type { Payload } from "@svc-runtime/protocol";
import type { DeliveryAttempt } from "../../deliveries/call-failure.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { CallOptions } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { QueueSettings } from "./queue-settings.ts";
import type { Trace } from "./spans.ts";
import type { AddedJob, Maker, QueueCounts } from "./store/job.ts";
import type { QueueStore } from "./store/queue-store.ts";

/** A job to add. Defaults come from the settings of its queue. */
export interface JobRequest {
  readonly queue: string;
  /** Undefined: the `JobServer` of the queue runs the job. */
  readonly functionId: string | undefined;
  readonly data: Payload;
  /** Default: a new UUID. */
  readonly id?: string | undefined;
  readonly delayMs?: number | undefined;
  /** Milliseconds since 1970. */
  readonly runAt?: number | undefined;
  readonly priority?: number | undefined;
  readonly group?: string | undefined;
  readonly dedupeKey?: string | undefined;
  readonly expiresInMs?: number | undefined;
  readonly maxAttempts?: number | undefined;
  /** The restricted principal that added the job. Undefined: a trusted caller or the engine. */
  readonly maker?: Maker | undefined;
  /** True: if the queue is full, this job is dropped, and the other jobs of the same call are added nevertheless. */
  readonly mayBeDropped?: boolean | undefined;
}

/** Runs the jobs of a queue that name no function, e.g. for the queue's triggers. */
export interface JobServer {
  /** True while no worker can run the jobs. Call `wake(queue)` when that changes. */
  isAway(): boolean;
  /**
   * Ids of the functions that the jobs need: the functions that run them, and the functions of conditions. The runner
   * tries again when one of these functions is registered.
   */
  readonly functionIds: readonly string[];
  /**
   * Runs one job by calls with `attempt.callOptions(options)`. Resolves with the result of the job, or with undefined
   * if no function ran; the job is complete then. Rejects with CallError if the attempt failed; `attempt` classifies
   * the failure.
   */
  run(payload: Payload, options: CallOptions, attempt: DeliveryAttempt): Promise<Payload | undefined>;
}

/** How far a running attempt is, as its handler reported. */
export interface Progress {
  /** 0 to 1. */
  readonly value: number;
  readonly note: string | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface ProgressReport extends Pick<Progress, "value" | "note"> {
  readonly queue: string;
  readonly jobId: string;
  /** Counted from 1. */
  readonly attempt: number;
}

export interface RedriveOptions {
  readonly ids?: readonly string[] | undefined;
  readonly data?: Payload | undefined;
  /** The restricted principal that redrives the dead letters. It owns the jobs from then on. */
  readonly maker?: Maker | undefined;
  readonly mayRun?: ((functionId: string | undefined) => void) | undefined;
}

export interface NoWorkerReasonOptions {
  /**
   * The reason may name functions that the job does not name: functions of triggers and of their conditions, and
   * functions with a similar name. Not every caller has the right to see these functions.
   */
  readonly mayNameOthers: boolean;
  /** Search for a function with a similar name. */
  readonly withSuggestion: boolean;
}

/**
 * Durable jobs: stores, leases, runs and retries jobs, and moves them to dead letters. The functions, triggers and
 * topics of the module use it. A queue must be declared before jobs are added. Jobs of an undeclared queue wait until
 * it is declared.
 */
export interface QueueCore {
  readonly store: QueueStore;
  /** Each call of its `now` checks whether the wall clock was set; if so, queues look for jobs that are due now. */
  readonly clock: Clock;
  /** Throws TypeError if the name is already declared. The undo stops fetching and keeps the jobs. */
  declare(name: string, settings: QueueSettings): Undo;
  settingsOf(name: string): QueueSettings | undefined;
  /** Names of declared queues, in order of declaration. */
  names(): readonly string[];
  /** Sets the server of the queue's jobs that name no function. A later server replaces it. */
  serve(queue: string, server: JobServer): Undo;
  /**
   * Stores all jobs or none; resolves when they are on disk. `trace` is stored with the jobs. Rejects with CallError
   * `queue_not_found`, `queue_full`, `payload_too_large`, `invalid_message` (not JSON) or `storage_failed`.
   */
  add(jobs: readonly JobRequest[], trace?: Trace): Promise<readonly AddedJob[]>;
  /** Call when the availability of the queue's server may have changed. */
  wake(queue: string): void;
  /** Starts no more jobs of the queue, also after a restart. */
  pause(queue: string): Promise<void>;
  resume(queue: string): Promise<void>;
  /** Deletes waiting and delayed jobs. Returns their number. */
  purge(queue: string): Promise<number>;
  /** Deletes a job; cancels its call if it runs. Rejects with CallError `job_not_found`. */
  cancel(jobId: string): Promise<void>;
  /**
   * Returns the dead letters to the queue; resolves with their number. Rejects with `job_not_found` if one of `ids` is
   * not a dead letter of the queue, and with `payload_too_large` or `queue_full` if the queue does not accept `data` as
   * their new data. After an error, no dead letter of `ids` has been redriven. Without `ids`, dead letters are redriven
   * in parts, so some may have been redriven before the error. `mayRun` is called for each function that would run, and
   * throws if the caller may not run it.
   */
  redrive(queue: string, options?: RedriveOptions): Promise<number>;
  discard(queue: string, ids?: readonly string[]): Promise<number>;
  /** Counts of one queue, without a scan. All 0 if it was never used. */
  counts(queue: string): Promise<QueueCounts>;
  /** True if no worker can currently run the queue's jobs that call this function, or if the queue is paused. */
  isAway(queue: string, functionId: string | undefined): boolean;
  /**
   * Returns, as text for people, why no worker can run the queue's jobs that call this function; undefined if one can.
   */
  noWorkerReason(queue: string, functionId: string | undefined, options: NoWorkerReasonOptions): string | undefined;
  /**
   * Returns the last progress that the running attempt of a job reported. `seq` is the number of the job in the store.
   */
  progressOf(queue: string, seq: number): Progress | undefined;
  /**
   * Sets the progress of a running attempt. Throws CallError `job_not_found` if the attempt is not running, or if it
   * runs on another worker than `workerId`. If `workerId` is undefined, the attempt may run on any worker.
   */
  reportProgress(report: ProgressReport, workerId: string | undefined): void;
  /**
   * Stops fetching jobs and gives the jobs in flight some time to end. Then aborts the jobs that still run, releases
   * them with their attempts unchanged, and closes the store.
   */
  stop(): Promise<void>;
}
