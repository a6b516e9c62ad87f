import type { Payload } from "@svc-runtime/protocol";
import type { DeliveryAttempt } from "../../deliveries/call-failure.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { CallOptions } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { QueueSettings } from "./queue-settings.ts";
import type { AddedJob, Maker, QueueCounts } from "./store/job.ts";
import type { QueueStore } from "./store/queue-store.ts";

/** A job to add. Defaults come from the settings of its queue. */
export interface JobRequest {
  readonly queue: string;
  /** Undefined: the queue's server runs the job. */
  readonly functionId: string | undefined;
  readonly data: Payload;
  /** UUID. Default: a new one. */
  readonly id?: string | undefined;
  readonly delayMs?: number | undefined;
  /** Milliseconds since 1970. */
  readonly runAt?: number | undefined;
  readonly priority?: number | undefined;
  readonly group?: string | undefined;
  readonly dedupeKey?: string | undefined;
  readonly expiresInMs?: number | undefined;
  readonly maxAttempts?: number | undefined;
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
  /** The restricted principal that added the job. Undefined: a trusted caller or the engine. */
  readonly maker?: Maker | undefined;
  /** If the queue is full, the job is dropped and the others are added. */
  readonly mayBeDropped?: boolean | undefined;
}

/** Runs the jobs of a queue that name no function, e.g. for the queue's triggers. */
export interface JobServer {
  /** True while no worker can run the jobs. Call `wake(queue)` when that changes. */
  isAway(): boolean;
  /**
   * Functions that the jobs need: those that run them, and their conditions. The runner tries again when one is
   * registered.
   */
  readonly functionIds: readonly string[];
  /**
   * Runs one job by calls with `attempt.callOptions(options)`. Resolving completes the job with that result; undefined
   * if no function ran. Rejecting with CallError is a failure, which `attempt` classifies.
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
   * The reason may name functions that the job does not name: those of triggers, their conditions, and similar ones. Not
   * every caller may see them.
   */
  readonly mayNameOthers: boolean;
  /** Search for a function with a similar name. */
  readonly withSuggestion: boolean;
}

/**
 * Durable jobs: stores, leases, runs and retries them, and moves them to dead letters. Functions, triggers and topics
 * build on it.
 * A queue must be declared before jobs are added. Jobs of an undeclared queue wait until it is declared.
 */
export interface QueueCore {
  readonly store: QueueStore;
  /** Its `now` detects that the wall clock was set. */
  readonly clock: Clock;
  /** Throws TypeError if the name is already declared. The undo stops fetching and keeps the jobs. */
  declare(name: string, settings: QueueSettings): Undo;
  settingsOf(name: string): QueueSettings | undefined;
  /** Names of declared queues, in order of declaration. */
  names(): readonly string[];
  /** Sets the server of the queue's jobs that name no function. A later server replaces it. */
  serve(queue: string, server: JobServer): Undo;
  /**
   * Stores all jobs or none; resolves when they are on disk. Rejects with CallError `queue_not_found`, `queue_full`,
   * `payload_too_large`, `invalid_message` (not JSON) or `storage_failed`.
   */
  add(jobs: readonly JobRequest[]): Promise<readonly AddedJob[]>;
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
   * their new data. After an error none of `ids` is redriven; without `ids`, an earlier part may be. `mayRun` is called
   * for each function that would run, and throws if the caller may not run it.
   */
  redrive(queue: string, options?: RedriveOptions): Promise<number>;
  discard(queue: string, ids?: readonly string[]): Promise<number>;
  /** Counts of one queue, without a scan. All 0 if it was never used. */
  counts(queue: string): Promise<QueueCounts>;
  /** True if such jobs of the queue currently cannot run, or if the queue is paused. */
  isAway(queue: string, functionId: string | undefined): boolean;
  /** Returns why no worker can run such jobs of the queue, for people; undefined if one can. */
  noWorkerReason(queue: string, functionId: string | undefined, options: NoWorkerReasonOptions): string | undefined;
  /** Returns the progress that the running attempt of a job, by its number in the store, reported last. */
  progressOf(queue: string, seq: number): Progress | undefined;
  /**
   * Sets the progress of a running attempt. Throws CallError `job_not_found` if it does not run, or runs on another
   * worker than `workerId`. Undefined: on any worker.
   */
  reportProgress(report: ProgressReport, workerId: string | undefined): void;
  /** Stops fetching, waits for jobs in flight, releases the others with attempts unchanged, and closes the store. */
  stop(): Promise<void>;
}
