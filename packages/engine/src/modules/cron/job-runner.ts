import type { TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { DecidedTicks } from "./decided-ticks.ts";
import type { Delivered } from "./delivery.ts";
import type { FairSemaphore } from "./fair-semaphore.ts";
import type { JobRuns, RunsHost } from "./job-runs.ts";
import type { JobTriggers } from "./job-triggers.ts";
import type { CronSettings } from "./settings.ts";
import { SKIP_OUTCOMES } from "./skip-outcomes.ts";
import type { NewRun, Run } from "./store/rows.ts";

/** Maximum concurrent runs of a job with overlap `allow`. Further ticks are skipped. */
const MAX_RUNNING = 100;

/** The services that start runs. */
export interface RunnerHost extends RunsHost {
  readonly slots: FairSemaphore;
  deliver(jobId: string, binding: TriggerBinding<CronSettings>, run: Run): Promise<Delivered>;
}

export interface RunnerParts {
  readonly id: string;
  readonly functionId: string;
  readonly settings: CronSettings;
  readonly triggers: JobTriggers;
  readonly runs: JobRuns;
  readonly decided: DecidedTicks;
  readonly host: RunnerHost;
  /** Called when a run has ended, or could not start. */
  onEnded(): void;
  onStoreFailed(error: unknown): void;
  /** Called when the start of a run was undone, because the function was not called. */
  onUndone(): void;
}

/** The result of a run that was started by hand. */
export interface ManualRun {
  readonly run: Run;
  readonly result: Delivered["result"];
}

/** Starts the runs of one job: at ticks, by hand, and again after a restart of the engine. */
export class JobRunner {
  readonly #parts: RunnerParts;
  #running = 0;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
  }

  /** Number of runs in progress at this engine, including those that wait for a slot. */
  get running(): number {
    return this.#running;
  }

  /** True if the job has the maximum number of concurrent runs. */
  get isFull(): boolean {
    return this.#running >= MAX_RUNNING;
  }

  /** Starts the run of a decided tick when there is a slot. */
  startTick(tick: number): void {
    this.#track(this.#runTick(tick));
  }

  /** Delivers a run again that an earlier run of the engine started. */
  redeliver(run: Run): void {
    this.#track(this.#deliverAgain(run));
  }

  /** Starts a run now. Resolves when it has ended, or with an outcome that says why it did not start. */
  async runNow(scheduledAt: number, binding: TriggerBinding<CronSettings>): Promise<ManualRun> {
    const { id, settings, runs, host } = this.#parts;
    const { clock, store, slots } = host;
    if (this.#running > 0 && (settings.overlap !== "allow" || this.isFull))
      return notStarted(scheduledAt, "skipped", SKIP_OUTCOMES.overlap.error);
    this.#running += 1;
    const release = await slots.take(binding.principal);
    try {
      if (release === undefined) return notStarted(scheduledAt, "error", "the engine is shutting down");
      const run: NewRun = { ...newRun(scheduledAt), startedAt: clock.now(), manual: true };
      const start = await store.start({ id, run, decidedUntil: undefined }, settings.overlap === "allow");
      if (start.status !== "started") return notStarted(scheduledAt, "skipped", SKIP_OUTCOMES.overlap.error);
      runs.note(start.run);
      const delivered = await host.deliver(id, binding, start.run);
      const finished = runs.finish(start.run, delivered);
      // In a cluster, waits until the outcome is stored, because the caller may start the next run at another engine.
      if (store.isShared) await finished.stored;
      return { run: finished.run, result: delivered.result };
    } finally {
      this.#ended(release);
    }
  }

  async #runTick(tick: number): Promise<void> {
    const { id, functionId, settings, triggers, runs, decided, host } = this.#parts;
    const { clock, log, store, slots } = host;
    const decidedBefore = decided.until;
    this.#running += 1;
    decided.waitsForSlot(tick);
    const release = await slots.take(triggers.principal);
    decided.gotSlot(tick);
    try {
      const binding = triggers.available ?? triggers.first;
      if (release === undefined || binding === undefined) {
        // The tick becomes undecided again. It is decided after the next start of the engine, or when the job gets a
        // trigger.
        decided.undecide(decidedBefore);
        return;
      }
      const run: NewRun = { ...newRun(tick), startedAt: clock.now() };
      const entry = { id, run, decidedUntil: decided.decidedByStart(tick) };
      const start = await store.start(entry, settings.overlap === "allow");
      triggers.report(undefined);
      if (start.status === "overlaps") {
        // Another engine runs the job, and its run is known here by now. The tick becomes undecided: the overlap policy
        // decides about it, or it starts if that run has ended.
        decided.undecide(decidedBefore);
        return;
      }
      if (start.status === "decided") {
        const facts = { job: id, function: functionId, tick };
        // In a cluster, another engine was faster.
        log[store.isShared ? "debug" : "warn"]("tick of a cron trigger not started: it was already decided", facts);
        return;
      }
      runs.note(start.run);
      const delivered = await host.deliver(id, binding, start.run);
      if (delivered.outcome === "refused" && (await this.#undoStart(start.run, decidedBefore))) return;
      runs.finish(start.run, delivered);
    } catch (error) {
      // The tick is tried again. If its start was stored in spite of the error, the store refuses the next attempt.
      decided.undecide(decidedBefore);
      this.#parts.onStoreFailed(error);
    } finally {
      this.#ended(release);
    }
  }

  /**
   * Undoes the start of a run that was never delivered, so that the misfire policy decides when it runs. Returns false
   * if the store refuses.
   */
  async #undoStart(run: Run, decidedUntil: number): Promise<boolean> {
    const { id, runs, decided, host } = this.#parts;
    const { seq, scheduledAt } = run;
    if (!(await host.store.undoStart({ id, seq, scheduledAt, decidedUntil }))) return false;
    decided.decide(decidedUntil);
    runs.forget(run);
    this.#parts.onUndone();
    return true;
  }

  async #deliverAgain(run: Run): Promise<void> {
    const { id, triggers, runs, host } = this.#parts;
    const binding = triggers.first;
    if (binding === undefined) return;
    this.#running += 1;
    try {
      runs.finish(run, await host.deliver(id, binding, run));
    } finally {
      this.#ended(undefined);
    }
  }

  #ended(releaseSlot: Undo | undefined): void {
    this.#running -= 1;
    releaseSlot?.();
    this.#parts.onEnded();
  }

  #track(work: Promise<void>): void {
    const { id, functionId, host } = this.#parts;
    host.track(
      work.catch((error: unknown) =>
        host.log.error("cron trigger failed because of an engine defect", { job: id, function: functionId, error }),
      ),
    );
  }
}

/** Returns the outcome of a run that was asked for by hand and did not start. It is not recorded. */
export function notStarted(scheduledAt: number, outcome: "error" | "skipped", error: string): ManualRun {
  return { run: { seq: 0, ...newRun(scheduledAt), manual: true, outcome, error }, result: undefined };
}

function newRun(scheduledAt: number): NewRun {
  return {
    scheduledAt,
    startedAt: null,
    finishedAt: null,
    outcome: null,
    error: null,
    manual: false,
    skippedCount: 0,
  };
}
