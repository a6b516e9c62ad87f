import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Delivered } from "./delivery.ts";
import { MAX_CATCH_UP, type SkippedTicks } from "./plan-ticks.ts";
import type { CronStore } from "./store/cron-store.ts";
import type { HandledTicks } from "./store/handled-ticks.ts";
import type { Outcome, Run } from "./store/rows.ts";

/** The services that the runs of a job use. */
export interface RunsHost {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: CronStore;
  /** Makes the module's stop wait for the work. */
  track(work: Promise<unknown>): void;
}

/** Numbers the runs of one job and records how they end. Knows the last one. */
export class JobRuns {
  readonly #job: { readonly id: string; readonly functionId: string };
  readonly #host: RunsHost;
  #nextSeq = 1;
  #last: Run | undefined;

  constructor(job: { readonly id: string; readonly functionId: string }, host: RunsHost) {
    this.#job = job;
    this.#host = host;
  }

  get last(): Run | undefined {
    return this.#last;
  }

  nextSeq(): number {
    return this.#nextSeq++;
  }

  /** Continues after the last run that is stored, if any. */
  adopt(stored: Run | undefined): void {
    const seq = stored?.seq ?? 0;
    if (this.#last === undefined || seq > this.#last.seq) this.#last = stored;
    this.#nextSeq = Math.max(this.#nextSeq, seq + 1);
  }

  note(run: Run): void {
    if (this.#last === undefined || run.seq >= this.#last.seq) this.#last = run;
  }

  /** Call when the start of a run was undone. */
  forget(run: Run): void {
    if (this.#last?.seq === run.seq) this.#last = undefined;
  }

  /** Records the outcome of a started run. */
  finish(run: Run, { outcome, error }: Delivered): Run {
    const finished: Run = {
      ...run,
      finishedAt: this.#host.clock.now(),
      outcome: outcome === "refused" ? "error" : outcome,
      error,
    };
    const { id, functionId } = this.#job;
    if (finished.outcome === "error")
      this.#host.log.warn("run of a cron trigger failed", { job: id, function: functionId, error });
    this.#record(finished, undefined);
    return finished;
  }

  /**
   * Records skipped ticks. One entry stands for all consecutive ticks with the same reason. `decidedUntil`: the store
   * treats earlier ticks as decided.
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
    const before = this.#last;
    const isSame = before !== undefined && before.startedAt === null && before.error === error;
    this.#record(
      {
        seq: isSame ? before.seq : this.nextSeq(),
        scheduledAt: last,
        startedAt: null,
        finishedAt: this.#host.clock.now(),
        outcome,
        error,
        manual: false,
        skippedCount: (isSame ? before.skippedCount : 0) + Math.min(count, MAX_CATCH_UP),
      },
      decidedUntil,
      handled,
    );
  }

  #record(run: Run, decidedUntil: number | undefined, handled?: HandledTicks): void {
    const { store, log } = this.#host;
    const { id, functionId } = this.#job;
    this.note(run);
    this.#host.track(
      store
        .record({ id, run, decidedUntil, ...(handled === undefined ? {} : { handled }) })
        .catch((error: unknown) =>
          log.warn("outcome of a cron tick could not be stored", { job: id, function: functionId, error }),
        ),
    );
  }
}
