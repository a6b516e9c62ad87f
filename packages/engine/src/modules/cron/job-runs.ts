import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Delivered } from "./delivery.ts";
import { MAX_CATCH_UP, type SkippedTicks } from "./plan-ticks.ts";
import type { CronStore } from "./store/cron-store.ts";
import type { HandledTicks } from "./store/handled-ticks.ts";
import type { NewRun, Outcome, Run } from "./store/rows.ts";

/** The services that the runs of a job use. */
export interface RunsHost {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: CronStore;
  /** Makes the module's stop wait for the work. */
  track(work: Promise<unknown>): void;
}

/** Records the runs of one job and how they end. Knows the last one. */
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

  /** Continues after the last run that is stored, if any. */
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

  /** Records the outcome of a started run. `stored` resolves when that is done or has failed. */
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
    return { run: finished, stored: this.#track(this.#host.store.finish({ id, run: finished })) };
  }

  /**
   * Records skipped ticks. The store adds them to the entry before if that has the same reason. `decidedUntil`: the
   * store treats earlier ticks as decided.
   */
  recordSkipped(
    {
      outcome,
      error,
      last,
      count,
    }: { readonly outcome: Outcome; readonly error: string } & Pick<SkippedTicks, "last" | "count">,
    { decidedUntil, handled }: { readonly decidedUntil: number; readonly handled: HandledTicks | undefined },
  ): void {
    const { store, clock } = this.#host;
    const run: NewRun = {
      scheduledAt: last,
      startedAt: null,
      finishedAt: clock.now(),
      outcome,
      error,
      manual: false,
      skippedCount: Math.min(count, MAX_CATCH_UP),
    };
    const entry = { id: this.#job.id, run, decidedUntil, ...(handled === undefined ? {} : { handled }) };
    void this.#track(store.add(entry).then((added) => this.adopt(added)));
  }

  #track(stored: Promise<void>): Promise<void> {
    const { id, functionId } = this.#job;
    const handled = stored.catch((error: unknown) =>
      this.#host.log.warn("outcome of a cron tick could not be stored", { job: id, function: functionId, error }),
    );
    this.#host.track(handled);
    return handled;
  }
}
