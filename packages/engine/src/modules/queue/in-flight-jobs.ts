import { DeliveryAttempt } from "../../deliveries/call-failure.ts";
import type { ProviderOf } from "../../deliveries/function-owner.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Directory } from "../../kernel/directory.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Telemetry } from "../../kernel/telemetry-contract.ts";
import { type Attempt, attemptJob } from "./job-attempt.ts";
import type { QueueSettings } from "./queue-settings.ts";
import {
  type Completion,
  completionAfterFailure,
  deadLetterUnrun,
  type InFlightJob,
  release,
  storeCompletion,
} from "./retry-or-dead-letter.ts";
import { runRefusalOf } from "./run-refusal.ts";
import type { RunnableFunctions } from "./runnable-functions.ts";
import type { LeasedJob } from "./store/job.ts";
import type { QueueStore } from "./store/queue-store.ts";
import { UnrunJobsLog } from "./unrun-jobs-log.ts";

export interface InFlightParts {
  readonly name: string;
  readonly settings: QueueSettings;
  readonly store: QueueStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly directory: Pick<Directory, "workerById">;
  readonly telemetry: Pick<Telemetry, "startSpan">;
  /** Returns whether the config still has the role. Jobs whose maker has a removed role do not run. */
  readonly isRoleInForce: (role: string) => boolean;
  readonly providerOf: ProviderOf;
  /** Called when the success of a job was stored. */
  readonly onDone: () => void;
}

/** Called when a job frees its slot and when it ends. */
export interface SlotListener {
  /** Called before the outcome of a job is sent to the store, because the next job may use its slot from then on. */
  onSlotFreed(job: LeasedJob): void;
  /** Called when a job is not in flight any more. */
  onEnded(job: LeasedJob): void;
}

/** Runs the jobs in flight of one queue, each once, and stores their outcomes. */
export class InFlightJobs {
  readonly #parts: InFlightParts;
  readonly #functions: RunnableFunctions;
  readonly #listener: SlotListener;
  readonly #unrunJobs: UnrunJobsLog;
  readonly #jobs = new Map<number, InFlightJob>();
  #stopped = false;

  constructor(parts: InFlightParts, functions: RunnableFunctions, listener: SlotListener) {
    this.#parts = parts;
    this.#functions = functions;
    this.#listener = listener;
    this.#unrunJobs = new UnrunJobsLog({ queue: parts.name, clock: parts.clock, log: parts.log });
  }

  /** Numbers that the jobs have in the store. */
  get seqs(): readonly number[] {
    return [...this.#jobs.keys()];
  }

  /** Number of jobs that use a slot. */
  get running(): number {
    let running = 0;
    for (const { isCompleting } of this.#jobs.values()) if (!isCompleting) running += 1;
    return running;
  }

  /** Number of jobs of restricted principals that use a slot. */
  get runningRestricted(): number {
    let running = 0;
    for (const { isCompleting, job } of this.#jobs.values()) if (!isCompleting && job.maker !== undefined) running += 1;
    return running;
  }

  get(seq: number): InFlightJob | undefined {
    return this.#jobs.get(seq);
  }

  getById(jobId: string): InFlightJob | undefined {
    for (const inFlight of this.#jobs.values()) if (inFlight.job.id === jobId) return inFlight;
    return undefined;
  }

  /** Runs a job that was taken. */
  start(job: LeasedJob): void {
    let ended = (): void => {};
    const inFlight: InFlightJob = {
      job,
      calls: new DeliveryAttempt(),
      abortReason: undefined,
      endWait: undefined,
      isCompleting: false,
      workerId: undefined,
      progress: undefined,
      ended: new Promise((resolve) => {
        ended = resolve;
      }),
    };
    this.#jobs.set(job.seq, inFlight);
    void this.#runAndComplete(inFlight).finally(() => {
      this.#jobs.delete(job.seq);
      ended();
      this.#listener.onEnded(job);
    });
  }

  /** Cancels a job and resolves when it is completed. Returns false if the job is not in flight. */
  async cancel(seq: number): Promise<boolean> {
    const inFlight = this.#jobs.get(seq);
    if (inFlight === undefined) return false;
    abort(inFlight, "cancelled");
    await inFlight.ended;
    return true;
  }

  /** Releases jobs that are started from now on. Jobs that already run continue. */
  stopStarting(): void {
    this.#stopped = true;
    this.#unrunJobs.flush();
  }

  /** Aborts all jobs. They are released with their attempts unchanged. */
  abortAll(): void {
    for (const inFlight of this.#jobs.values()) abort(inFlight, "stopped");
  }

  /** Promises of the ends of all jobs. */
  get ends(): readonly Promise<void>[] {
    return [...this.#jobs.values()].map(({ ended }) => ended);
  }

  /** Never rejects. */
  async #runAndComplete(inFlight: InFlightJob): Promise<void> {
    const { job } = inFlight;
    const completion = await this.#completionOf(inFlight).catch((error: unknown) => {
      const { log, name, store } = this.#parts;
      log.error("job failed in the engine", { queue: name, job: job.id, error });
      this.#functions.backOff(job.functionId);
      return release(store);
    });
    await storeCompletion(inFlight, completion, this.#parts, () => this.#listener.onSlotFreed(job));
  }

  /** Runs the job and returns how to complete it. */
  async #completionOf(inFlight: InFlightJob): Promise<Completion> {
    const { store, clock, directory, settings, telemetry } = this.#parts;
    const { job, calls } = inFlight;
    if (this.#stopped) return release(store);
    const refusal = runRefusalOf(job, this.#parts);
    if (refusal !== undefined) {
      this.#unrunJobs.note(refusal);
      return deadLetterUnrun(job, refusal, this.#parts);
    }
    if (this.#functions.isAway(job.functionId)) {
      this.#functions.backOff(job.functionId);
      return release(store);
    }
    const ended = await attemptJob({
      job,
      run: this.#functions.runOf(job),
      timeoutMs: settings.timeoutMs,
      calls,
      clock,
      onWorker: (workerId) => {
        inFlight.workerId = workerId;
      },
      directory,
      telemetry,
    });
    if ("outcome" in ended) {
      this.#functions.ran(job.functionId);
      const { result, endedAt, durationMs } = ended.outcome;
      const input = { result, endedAt, durationMs, seq: job.seq, run: store.run, keep: settings.keepDone };
      return async () => {
        const output = await store.call("done", input, {
          bytes: input.result?.length ?? 0,
          mayWait: job.group === undefined,
        });
        this.#parts.onDone();
        return output;
      };
    }
    if (inFlight.abortReason === "cancelled") return ({ seq }) => store.call("drop", { seq, run: store.run });
    return this.#completionAfterFailure(ended.failed, inFlight);
  }

  #completionAfterFailure(attempt: Attempt, inFlight: InFlightJob): Completion {
    const { kind } = attempt;
    const { functionId } = inFlight.job;
    if (kind !== "missing" && kind !== "unavailable") this.#functions.ran(functionId);
    else if (!this.#stopped) this.#functions.backOff(functionId);
    return completionAfterFailure(attempt, { ...this.#parts, inFlight, isStopping: this.#stopped });
  }
}

function abort(inFlight: InFlightJob, reason: NonNullable<InFlightJob["abortReason"]>): void {
  inFlight.abortReason ??= reason;
  inFlight.calls.cancel(reason === "cancelled" ? "the job was cancelled" : "the queue is stopping");
  inFlight.endWait?.();
}
