import { backoffMs, CallError } from "@svc-runtime/protocol";
import { UNAVAILABLE_BACKOFF } from "../../deliveries/call-failure.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Delivered } from "./delivery.ts";
import { MAX_CATCH_UP, type SkippedTicks } from "./plan-ticks.ts";
import { SKIP_OUTCOMES } from "./skip-outcomes.ts";
import type { CronStore } from "./store/cron-store.ts";
import type { HandledTicks } from "./store/handled-ticks.ts";
import type { NewRun, Run } from "./store/rows.ts";

/** The services that the runs of a job use. */
export interface RunsHost {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: CronStore;
  /** Aborted when the module stops. */
  readonly stopping: AbortSignal;
  /** Makes the module's stop wait for the work. */
  track(work: Promise<unknown>): void;
}

/** Stores how the runs of one job end, and knows the last run. */
export class JobRuns {
  readonly #job: { readonly id: string; readonly functionId: string };
  readonly #host: RunsHost;
  #last: Run | undefined;

  constructor(job: { readonly id: string; readonly functionId: string }, host: RunsHost) {
    this.#job = job;
    this.#host = host;
  }

  get last(): Run | undefined {
    return this.#last;
  }

  /** Takes over the last run that is stored, if there is one. */
  adopt(stored: Run | undefined): void {
    if (stored !== undefined) this.note(stored);
  }

  note(run: Run): void {
    if (this.#last === undefined || run.seq >= this.#last.seq) this.#last = run;
  }

  /** Call when the start of a run was undone. */
  forget(run: Run): void {
    if (this.#last?.seq === run.seq) this.#last = undefined;
  }

  /**
   * Records the outcome of a started run. Retries until the outcome is stored, because the run counts as running until
   * then. `stored` resolves when the first attempt has ended.
   */
  finish(run: Run, { outcome, error }: Delivered): { readonly run: Run; readonly stored: Promise<void> } {
    const finished: Run = {
      ...run,
      finishedAt: this.#host.clock.now(),
      outcome: outcome === "refused" ? "error" : outcome,
      error,
    };
    const { id, functionId } = this.#job;
    if (finished.outcome === "error")
      this.#host.log.warn("run of a cron trigger failed", { job: id, function: functionId, error });
    this.note(finished);
    const first = this.#host.store.finish({ id, run: finished });
    this.#host.track(this.#storeFinished(finished, first));
    return { run: finished, stored: first.catch(() => {}) };
  }

  /**
   * Stores the outcome of a run, with retries. If a failed attempt has stored the outcome nevertheless, a retry changes
   * nothing. Never rejects.
   */
  async #storeFinished(run: Run, first: Promise<void>): Promise<void> {
    const { id, functionId } = this.#job;
    const { store, stopping, log } = this.#host;
    let tried = first;
    for (let attempt = 1; ; attempt++) {
      try {
        await tried;
        return;
      } catch (error) {
        if (attempt === 1)
          log.warn("outcome of a cron tick could not be stored", { job: id, function: functionId, error });
        // The next start of this engine, or another engine, ends the runs whose outcome is not stored.
        if (stopping.aborted || isStoreEnded(error)) return;
      }
      await this.#pause(backoffMs(UNAVAILABLE_BACKOFF, attempt));
      if (stopping.aborted) return;
      tried = store.finish({ id, run });
    }
  }

  /** Resolves after the time, or when the module stops. */
  #pause(ms: number): Promise<void> {
    const { clock, stopping } = this.#host;
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        stopping.removeEventListener("abort", end);
        resolve();
      };
      const cancel = clock.after(ms, end);
      stopping.addEventListener("abort", end);
    });
  }

  /**
   * Records skipped ticks. If the previous entry has the same reason, the store adds them to it. `decidedUntil`: the
   * time up to which the store treats ticks as decided.
   */
  recordSkipped(
    { reason, last, count }: SkippedTicks,
    { decidedUntil, handled }: { readonly decidedUntil: number; readonly handled: HandledTicks | undefined },
  ): void {
    const { store, clock } = this.#host;
    const run: NewRun = {
      scheduledAt: last,
      startedAt: null,
      finishedAt: clock.now(),
      ...SKIP_OUTCOMES[reason],
      manual: false,
      skippedCount: Math.min(count, MAX_CATCH_UP),
    };
    const entry = { id: this.#job.id, run, decidedUntil, ...(handled === undefined ? {} : { handled }) };
    const { id, functionId } = this.#job;
    this.#host.track(
      store.add(entry).then(
        (added) => this.adopt(added),
        (error: unknown) =>
          this.#host.log.warn("outcome of a cron tick could not be stored", { job: id, function: functionId, error }),
      ),
    );
  }
}

/** True if this run of the engine can write nothing any more. */
function isStoreEnded(error: unknown): boolean {
  return CallError.is(error) && (error.code === "draining" || error.code === "run_expelled");
}
