import type { Due } from "../../collections/due-queue.ts";
import type { ClockState, TriggerBinding } from "../../kernel/module.ts";
import type { Alarm } from "./alarm.ts";
import { type Decided, DecidedTicks } from "./decided-ticks.ts";
import { JobRunner, type ManualRun, notStarted, type RunnerHost } from "./job-runner.ts";
import { JobRuns } from "./job-runs.ts";
import { JobTriggers, type TriggersHost } from "./job-triggers.ts";
import { OtherEngines } from "./other-engines.ts";
import { type CronSettings, jitterOf, settingsText } from "./settings.ts";
import type { ForeignChange } from "./store/cron-store.ts";
import type { Run, StoredJob } from "./store/rows.ts";
import { NO_TICKS_HERE, refuseWrongClock } from "./wrong-clock.ts";

/** Delay after the store failed or a call was refused, in milliseconds. */
const RETRY_MS = 1_000;
/**
 * Maximum age of a start whose job is added to its queue again, because the engine ended before it knew whether the job
 * was added. The age must be well below the time for which a queue remembers a dedupe key, so that no job is added
 * twice.
 */
const REDELIVER_MS = 5 * 60_000;

/** Interval at which an engine whose clock is not right compares it again, in milliseconds. */
const CLOCK_CHECK_MS = 1_000;

/** The services that all jobs share. */
export interface JobHost extends TriggersHost, RunnerHost {
  readonly alarm: Alarm<CronJob>;
  /**
   * True since the shutdown of the engine began. No run starts any more. After the next start of the engine, the
   * misfire policy decides about the ticks that were due.
   */
  readonly isDraining: boolean;
  /** Whether the clock of this engine is right. Always `right` without a cluster. */
  readonly clockState: ClockState;
  /** Called when the job has no trigger and no run. */
  onUnused(job: CronJob): void;
}

/**
 * One schedule of one function, shared by equal triggers. Decides what happens with its ticks, each of which starts at
 * most once.
 */
export class CronJob implements Due {
  dueAt = 0;
  place = -1;
  readonly id: string;
  readonly settings: CronSettings;
  readonly #triggers: JobTriggers;
  readonly #runs: JobRuns;
  readonly #decided: DecidedTicks;
  readonly #others: OtherEngines;
  readonly #runner: JobRunner;
  readonly #functionId: string;
  readonly #host: JobHost;
  readonly #jitter: number;
  #state: "unread" | "reading" | "ready" = "unread";
  #isRewinding = false;
  /** Changes that other engines wrote while the stored job is being read. They are applied after it. */
  #missed: ForeignChange[] = [];
  #mustReadAgain = false;
  /**
   * Resolves when the stored job was read or reading failed. Changes wait for it, because the job may not be in the
   * store before.
   */
  #reading: Promise<void> | undefined;
  #paused = false;
  /** Monotonic time of the next attempt after a failure. */
  #retryAt = Number.NEGATIVE_INFINITY;
  #isWaitingForWorker = false;
  #isClockReported = false;

  constructor(id: string, functionId: string, settings: CronSettings, host: JobHost) {
    this.id = id;
    this.settings = settings;
    this.#functionId = functionId;
    this.#host = host;
    this.#jitter = jitterOf(id, settings);
    this.#triggers = new JobTriggers({ id, functionId }, host);
    this.#runs = new JobRuns({ id, functionId }, host);
    this.#decided = new DecidedTicks(settings.schedule, host.store.isShared);
    this.#others = new OtherEngines(id, host.store.run);
    this.#runner = new JobRunner({
      ...{ id, functionId, settings, host },
      ...{ triggers: this.#triggers, runs: this.#runs, decided: this.#decided },
      onEnded: () => this.#runEnded(),
      onStoreFailed: (error) => this.#storeFailed(error),
      onUndone: () => this.#retryLater(),
    });
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** False until the stored job was read. */
  get isReady(): boolean {
    return this.#state === "ready";
  }

  get lastRun(): Run | undefined {
    return this.#runs.last;
  }

  /** Returns the next ticks to start, at most `count`. */
  nextTicks(count: number, now: number): readonly number[] {
    return this.#decided.next(count, now);
  }

  /** True if the job has no trigger and no run. */
  get isUnused(): boolean {
    return this.#triggers.isEmpty && this.#runner.running === 0 && this.#state !== "reading";
  }

  /** True while due ticks wait for a worker. */
  get isWaitingForWorker(): boolean {
    return this.#isWaitingForWorker;
  }

  add(binding: TriggerBinding<CronSettings>): void {
    if (!this.#triggers.add(binding)) return;
    // The stored state may have changed while the job had no trigger.
    this.#state = "unread";
    this.update();
  }

  remove(binding: TriggerBinding<CronSettings>): void {
    if (!this.#triggers.remove(binding)) return;
    const { alarm, store, log, stopped } = this.#host;
    alarm.delete(this);
    this.#isWaitingForWorker = false;
    if (this.isUnused) this.#host.onUnused(this);
    const isWithdrawn = binding.ended === "withdrawn";
    if (stopped || !(isWithdrawn || store.isShared)) return;
    const { isTrusted } = binding.principal;
    this.#host.track(
      (isWithdrawn ? store.retire({ id: this.id, isTrusted }) : store.release(this.id)).catch((error: unknown) =>
        log.debug("unregistration of a cron trigger could not be stored", { job: this.id, error }),
      ),
    );
  }

  /** Reads the stored job again. Call when another engine is gone, so that this engine adopts its unfinished runs. */
  readAgain(): void {
    if (this.#host.stopped) return;
    this.#mustReadAgain = this.#state === "reading";
    if (this.#state !== "ready") return;
    this.#state = "unread";
    this.update();
  }

  /** Call for each change that another engine wrote, in order. */
  changedElsewhere(change: ForeignChange): void {
    if (this.#state === "reading") this.#missed.push(change);
    if (this.#state !== "ready") return;
    this.#apply(change);
    if (change.kind !== "unknown") this.update();
  }

  /** Call when the principal of a trigger has changed. */
  principalChanged(binding: TriggerBinding<CronSettings>): void {
    this.#triggers.principalChanged(binding);
  }

  /** Decides about due ticks, and sets the alarm for the next one. */
  update(): void {
    const { clock, alarm } = this.#host;
    const now = clock.now();
    if (this.#isRewinding) return;
    this.#isWaitingForWorker = false;
    if (this.#host.isDraining || this.#triggers.isEmpty) return;
    const wait = this.#retryAt - clock.monotonic();
    // Other engines start the ticks. By this clock they would start at a wrong time, and the decided ones would keep
    // others from starting until their clocks are past them.
    const { clockState } = this.#host;
    this.#reportClock(clockState === "wrong");
    if (clockState !== "right") alarm.set(this, now + CLOCK_CHECK_MS);
    else if (wait > 0) alarm.set(this, now + wait);
    else if (this.#state !== "ready") this.#read();
    else if (this.#paused) return;
    else if (this.#decided.isAhead(now)) this.#rewind(now);
    else this.#decide(now);
  }

  /**
   * Starts a run now, independent of the schedule. Resolves when the run has ended; rejects with CallError if it could
   * not start.
   */
  async trigger(): Promise<ManualRun> {
    refuseWrongClock(this.#host.clockState);
    const scheduledAt = this.#host.clock.now();
    await this.#reading;
    const binding = this.#triggers.available ?? this.#triggers.first;
    if (binding === undefined || this.#state !== "ready")
      return notStarted(scheduledAt, "error", "the trigger is not ready");
    return this.#runner.runNow(scheduledAt, binding);
  }

  /** Stops starting ticks until `resume` is called, also after a restart of the engine. */
  async pause(): Promise<void> {
    refuseWrongClock(this.#host.clockState);
    await this.#reading;
    await this.#host.store.setPaused(this.id, true);
    this.#paused = true;
    this.#host.alarm.delete(this);
  }

  /** Continues with the next tick from now. */
  async resume(): Promise<void> {
    refuseWrongClock(this.#host.clockState);
    await this.#reading;
    const now = this.#host.clock.now();
    if (!this.#paused && this.#decided.until <= now) return;
    const resumed = this.#decided.resumed(now);
    await this.#host.store.setPaused(this.id, false, { until: now, handled: resumed.handled });
    this.#paused = false;
    this.#continueFrom(resumed);
  }

  /** Shows at the triggers whether no ticks start here because the clock is wrong. */
  #reportClock(isWrong: boolean): void {
    if (isWrong) this.#triggers.report(NO_TICKS_HERE);
    else if (this.#isClockReported) this.#triggers.report(undefined);
    this.#isClockReported = isWrong;
  }

  #apply(change: ForeignChange): void {
    this.#others.apply(change);
    switch (change.kind) {
      case "started":
        this.#decided.decidedElsewhere({ decidedUntil: change.decidedUntil });
        this.#runs.note(change.run);
        return;
      case "added":
        this.#decided.decidedElsewhere(change.entry);
        this.#runs.note(change.run);
        return;
      case "finished":
        this.#runs.note(change.run);
        return;
      case "holders":
      case "released":
        return;
      case "unknown":
        this.readAgain();
    }
  }

  #rewind(now: number): void {
    const { store, alarm } = this.#host;
    const rewound = this.#decided.rewound(now);
    alarm.delete(this);
    this.#isRewinding = true;
    this.#reading = store.rewind({ id: this.id, ...rewound }).then(
      () => {
        this.#isRewinding = false;
        this.#triggers.report(undefined);
        this.#continueFrom(rewound);
      },
      (error: unknown) => {
        this.#isRewinding = false;
        this.#storeFailed(error);
        this.update();
      },
    );
    this.#host.track(this.#reading);
  }

  #continueFrom(decided: Decided): void {
    this.#decided.continueFrom(decided);
    this.update();
  }

  #decide(wallTime: number): void {
    const { alarm } = this.#host;
    const delay = this.#jitter + this.#others.lagMs;
    const now = wallTime - delay;
    const available = this.#triggers.available !== undefined;
    const { misfire, overlap } = this.settings;
    const plan = this.#decided.plan({
      misfire,
      overlap: this.#runner.isFull && overlap === "allow" ? "skip" : overlap,
      now,
      available,
      running: this.#runner.running + this.#others.running,
    });
    if (plan.skipped !== undefined) {
      this.#triggers.report(undefined);
      this.#runs.recordSkipped(plan.skipped, this.#decided.skip(plan.skipped, now));
    }
    for (const tick of plan.starts) this.#runner.startTick(tick);
    this.#decided.decide(plan.decidedUntil);
    this.#isWaitingForWorker = !available;
    if (plan.checkAt !== undefined) alarm.set(this, plan.checkAt + delay);
  }

  #read(): void {
    if (this.#state === "reading") return;
    this.#state = "reading";
    this.#missed = [];
    const { store, clock } = this.#host;
    const now = clock.now();
    const redeliverFrom = this.settings.queue === undefined ? undefined : now - REDELIVER_MS;
    const adoption = {
      id: this.id,
      functionId: this.#functionId,
      config: settingsText(this.settings),
      now,
      redeliverFrom,
      isTrusted: this.#triggers.hasTrusted,
    };
    this.#reading = store.adopt(adoption).then(
      (stored) => this.#adopt(stored),
      (error: unknown) => {
        this.#state = "unread";
        this.#storeFailed(error);
        this.update();
        if (this.isUnused) this.#host.onUnused(this);
      },
    );
    this.#host.track(this.#reading);
  }

  #adopt(stored: StoredJob): void {
    this.#state = "ready";
    this.#triggers.report(undefined);
    this.#decided.adopt(stored, this.#runner.running > 0);
    this.#paused = stored.paused;
    this.#others.adopt(stored);
    this.#runs.adopt(stored.lastRun);
    // The stored job may already contain some of these changes. Applying such a change again has no effect.
    for (const change of this.#missed.splice(0)) this.#apply(change);
    if (this.#mustReadAgain) {
      this.#mustReadAgain = false;
      this.readAgain();
    }
    // During the shutdown nothing is redelivered. The store returns these runs again after the next start of the
    // engine.
    if (!this.#host.isDraining) for (const run of stored.toRedeliver) this.#runner.redeliver(run);
    this.update();
    if (this.isUnused) this.#host.onUnused(this);
  }

  #runEnded(): void {
    this.update();
    if (this.isUnused) this.#host.onUnused(this);
  }

  #storeFailed(error: unknown): void {
    this.#triggers.report(`cannot be stored: ${error instanceof Error ? error.message : String(error)}`);
    this.#retryLater();
  }

  #retryLater(): void {
    this.#retryAt = this.#host.clock.monotonic() + RETRY_MS;
  }
}
