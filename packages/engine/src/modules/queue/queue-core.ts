import type { Payload } from "@svc/protocol";
import type { DeliveryAttempt } from "../../deliveries/call-failure.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { CallOptions } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { QueueSettings } from "./queue-settings.ts";
import type { AddedJob, Maker, QueueCounts } from "./store/job.ts";
import type { QueueStore } from "./store/queue-store.ts";

/** A job as a function of the module asks for it; what is left out follows from the queue. */
export interface JobRequest {
  readonly queue: string;
  /** Undefined: for whoever serves the queue. */
  readonly functionId: string | undefined;
  readonly data: Payload;
  /** UUID; made when absent. */
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
  /** Undefined: a trusted caller, or the engine. */
  readonly maker?: Maker | undefined;
  /** Where the queue has no room, it is left out, and the others are added. */
  readonly mayBeDropped?: boolean | undefined;
}

/** Runs the jobs of a queue that name no function, e.g. the bindings of a trigger. */
export interface JobServer {
  /** True while jobs are to wait: whoever would run them is away. Call `wake(queue)` when that changes. */
  isAway(): boolean;
  /** The functions whose arrival lets its jobs run: those that run them, and those that they need. */
  readonly functionIds: readonly string[];
  /** Runs one job, by calls with `attempt.callOptions(options)`. Resolving completes it; rejecting with CallError is a failure, which `attempt` classifies. */
  run(payload: Payload, options: CallOptions, attempt: DeliveryAttempt): Promise<unknown>;
}

export interface RedriveOptions {
  readonly ids?: readonly string[] | undefined;
  readonly data?: Payload | undefined;
  /** Who redrives them; they are his from then on. */
  readonly maker?: Maker | undefined;
  readonly mayRun?: ((functionId: string | undefined) => void) | undefined;
}

/**
 * Durable jobs: stored, taken, run, tried again, buried. Functions, triggers and topics are built on it.
 * A queue must be declared before anything is put on it, and jobs of a queue that is not declared wait until it is.
 */
export interface QueueCore {
  readonly store: QueueStore;
  /** Its `now` notices when the wall clock was set, and moves what the store keeps of durations before anything else is asked of the store. */
  readonly clock: Clock;
  /** Called when the wall clock was set, by how many milliseconds, for instants that are kept in memory. */
  onClockJump(listener: (byMs: number) => void): Undo;
  /** Throws TypeError when the name is declared already. The undo stops fetching and leaves the jobs. */
  declare(name: string, settings: QueueSettings): Undo;
  settingsOf(name: string): QueueSettings | undefined;
  /** Declared ones, in order of their declaration. */
  names(): readonly string[];
  /** Who runs the queue's jobs that name no function; one at a time, the latest. */
  serve(queue: string, server: JobServer): Undo;
  /**
   * Resolves when they are on the disk: all of them or none. Rejects with CallError: `queue_not_found`, `queue_full`, `payload_too_large`,
   * `invalid_message` (not JSON), `storage_failed`.
   */
  add(jobs: readonly JobRequest[]): Promise<readonly AddedJob[]>;
  /** Something may have changed about who runs the queue's jobs. */
  wake(queue: string): void;
  /** Durable. */
  pause(queue: string): Promise<void>;
  resume(queue: string): Promise<void>;
  /** Takes out what waits or is delayed. Answers how many. */
  purge(queue: string): Promise<number>;
  /** Rejects with `job_not_found`. One that runs is withdrawn from its worker. */
  cancel(jobId: string): Promise<void>;
  /**
   * Answers how many. Rejects with `job_not_found` when one of `ids` is no dead letter of the queue, with `payload_too_large` or `queue_full` when the
   * queue does not take `data` in place of theirs; then none of `ids` is redriven, and without `ids` none that has not been. `mayRun` is asked for each
   * function that would run, and throws when it may not.
   */
  redrive(queue: string, options?: RedriveOptions): Promise<number>;
  discard(queue: string, ids?: readonly string[]): Promise<number>;
  /** Of one queue, from counts that are kept; all zero when it was never used. */
  counts(queue: string): Promise<QueueCounts>;
  /** True when nobody would run such jobs of the queue at present, or the queue is paused. */
  isAway(queue: string, functionId: string | undefined): boolean;
  /** Stops fetching at once, waits for what is in hand, gives back the rest with attempts unchanged, closes the store. */
  stop(): Promise<void>;
}
