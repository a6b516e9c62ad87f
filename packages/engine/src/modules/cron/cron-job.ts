import { CallError } from "@svc-runtime/protocol";
import type { Due } from "../../collections/due-queue.ts";
import { firstChoice } from "../../collections/rendezvous.ts";
import type { ClockState, TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { Alarm } from "./alarm.ts";
import type { Delivered } from "./delivery.ts";
import type { FairSemaphore } from "./fair-semaphore.ts";
import { JobRuns, type RunsHost } from "./job-runs.ts";
import { JobTriggers, type TriggersHost } from "./job-triggers.ts";
import { LATE_MS, MAX_CATCH_UP, planTicks, type SkippedTicks } from "./plan-ticks.ts";
import type { Schedule } from "./schedule.ts";
import { type CronSettings, jitterOf, settingsText } from "./settings.ts";
import type { ForeignChange } from "./store/cron-store.ts";
import { endRange, firstHandled, type HandledTicks } from "./store/handled-ticks.ts";
import type { NewRun, Outcome, Run, StoredJob } from "./store/rows.ts";
import { unhandledTicks } from "./unhandled-ticks.ts";

/**
 * If the clock was set back by more than this, ticks continue at the new time. If it was set back by less, ticks wait
 * until the clock reaches the old time again.
 */
const SET_BACK_MS = 60_000;
/** Delay after the store failed or a call was refused, in milliseconds. */
const RETRY_MS = 1_000;
/** Maximum concurrent runs of a job with overlap `allow`. Further ticks are skipped. */
const MAX_RUNNING = 100;
/**
 * Maximum age of a start whose job is added to its queue again, because the engine ended before it knew whether the job
 * was added. The age must be well below the time for which a queue remembers a dedupe key, so that no job is added
 * twice.
 */
const REDELIVER_MS = 5 * 60_000;

/** Additional delay of a tick, in milliseconds, at all engines with equal triggers except the preferred one. */
const SECOND_CHOICE_MS = 300;

/** Interval at which an engine whose clock is not right compares it again, in milliseconds. */
const CLOCK_CHECK_MS = 1_000;

const CLOCK_WRONG = "the clock of this engine differs from those of the other engines by more than 1 s";

const SKIPPED: Readonly<Record<SkippedTicks["reason"], { readonly outcome: Outcome; readonly error: string }>> = {
  missed: { outcome: "skipped", error: "missed: it could not start within 60 s, and its misfire policy skips it" },
  superseded: { outcome: "skipped", error: "superseded by a later tick, which was started" },
  capped: { outcome: "skipped", error: `missed: only the latest ${MAX_CATCH_UP} missed ticks are started` },
  overlap: { outcome: "skipped", error: "the previous run had not ended" },
  absent: { outcome: "error", error: "its function or its worker was not available" },
};

/** The services that all jobs share. */
export interface JobHost extends TriggersHost, RunsHost {
  readonly alarm: Alarm<CronJob>;
  readonly slots: FairSemaphore;
  /**
   * True since the shutdown of the engine began. No run starts any more. After the next start of the engine, the
   * misfire policy decides about the ticks that were due.
   */
  readonly isDraining: boolean;
  /** Whether the clock of this engine is right. Always `right` without a cluster. */
  readonly clockState: ClockState;
  deliver(job: CronJob, binding: TriggerBinding<CronSettings>, run: Run): Promise<Delivered>;
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
  readonly #functionId: string;
  readonly #host: JobHost;
  readonly #jitter: number;
  #state: "unread" | "reading" | "ready" = "unread";
  #decidedUntil = 0;
  #handled: HandledTicks = { since: 0, ranges: [] };
  #isRewinding = false;
  #backlogUntil = Number.NEGATIVE_INFINITY;
  #waitingFrom: number | undefined;
  #running = 0;
  /** Numbers of the job's runs that other engines have started and not finished. */
  #runningElsewhere = new Set<number>();
  /**
   * Ids of the engine runs that have triggers of the job. Empty without a cluster. An engine gets a new run at each
   * start.
   */
  #holders = new Set<string>();
  /** Changes that other engines wrote while the stored job is being read. They are applied after it. */
  #missed: ForeignChange[] = [];
  #mustReadAgain = false;
  /** Ticks that are decided and wait for a slot. Their starts are not stored yet. */
  readonly #unstored = new Set<number>();
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
    const isAhead = this.#isAhead(now);
    const { ranges } = isAhead ? this.#rewound(now).handled : this.#handled;
    const schedule = unhandledTicks(this.settings.schedule, ranges);
    const ticks: number[] = [];
    let tick = schedule.next(isAhead ? now : Math.max(now, this.#decidedUntil));
    for (; tick !== undefined && ticks.length < count; tick = schedule.next(tick)) ticks.push(tick);
    return ticks;
  }

  /** True if the job has no trigger and no run. */
  get isUnused(): boolean {
    return this.#triggers.isEmpty && this.#running === 0 && this.#state !== "reading";
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
    else if (this.#isAhead(now)) this.#rewind(now);
    else this.#decide(now);
  }

  /**
   * Starts a run now, independent of the schedule. Resolves when the run has ended; rejects with CallError if it could
   * not start.
   */
  async trigger(): Promise<{ readonly run: Run; readonly result: Delivered["result"] }> {
    const { clock, store, slots } = this.#host;
    this.#refuseWrongClock();
    const scheduledAt = clock.now();
    await this.#reading;
    const run: Run = {
      seq: 0,
      scheduledAt,
      startedAt: null,
      finishedAt: null,
      outcome: null,
      error: null,
      manual: true,
      skippedCount: 0,
    };
    const binding = this.#triggers.available ?? this.#triggers.first;
    if (binding === undefined || this.#state !== "ready")
      return { run: { ...run, outcome: "error", error: "the trigger is not ready" }, result: undefined };
    if (this.#running > 0 && (this.settings.overlap !== "allow" || this.#running >= MAX_RUNNING)) {
      return { run: { ...run, outcome: "skipped", error: SKIPPED.overlap.error }, result: undefined };
    }
    this.#running += 1;
    const release = await slots.take(binding.principal);
    try {
      if (release === undefined)
        return { run: { ...run, outcome: "error", error: "the engine is shutting down" }, result: undefined };
      const entry = { id: this.id, run: { ...run, startedAt: clock.now() }, decidedUntil: undefined };
      const start = await store.start(entry, this.settings.overlap === "allow");
      if (start.status !== "started")
        return { run: { ...run, outcome: "skipped", error: SKIPPED.overlap.error }, result: undefined };
      this.#runs.note(start.run);
      const delivered = await this.#host.deliver(this, binding, start.run);
      const finished = this.#runs.finish(start.run, delivered);
      // In a cluster, waits until the outcome is stored, because the caller may start the next run at another engine.
      if (store.isShared) await finished.stored;
      return { run: finished.run, result: delivered.result };
    } finally {
      this.#ended(release);
    }
  }

  /** Stops starting ticks until `resume` is called, also after a restart of the engine. */
  async pause(): Promise<void> {
    this.#refuseWrongClock();
    await this.#reading;
    await this.#host.store.setPaused(this.id, true);
    this.#paused = true;
    this.#host.alarm.delete(this);
  }

  /** Continues with the next tick from now. */
  async resume(): Promise<void> {
    this.#refuseWrongClock();
    await this.#reading;
    const now = this.#host.clock.now();
    if (!this.#paused && this.#decidedUntil <= now) return;
    const handled = endRange(this.#handled, this.#decidedUntil, now + 1);
    await this.#host.store.setPaused(this.id, false, { until: now, handled });
    this.#paused = false;
    this.#continueFrom(now, handled);
  }

  /**
   * Throws CallError if the clock is not right. Times that it gives would change which ticks start at all engines, and
   * the job may not be read, so that the change would have no effect.
   */
  #refuseWrongClock(): void {
    const { clockState } = this.#host;
    if (clockState === "right") return;
    throw new CallError(
      "invalid_request",
      clockState === "wrong"
        ? `nothing was changed: ${CLOCK_WRONG}; call another engine that has the trigger, or set the clock of this one (NTP)`
        : "nothing was changed: the clock of this engine has not been compared with those of the other engines yet; try again in a few seconds",
    );
  }

  /** Shows at the triggers whether no ticks start here because the clock is wrong. */
  #reportClock(isWrong: boolean): void {
    if (isWrong) this.#triggers.report(`no ticks start at this engine: ${CLOCK_WRONG}; set it (NTP)`);
    else if (this.#isClockReported) this.#triggers.report(undefined);
    this.#isClockReported = isWrong;
  }

  /** Additional delay of ticks at this engine, in milliseconds. 0 if this engine is the preferred one for the job. */
  get #lag(): number {
    const { store } = this.#host;
    return this.#holders.size < 2 || firstChoice(this.id, this.#holders) === store.run ? 0 : SECOND_CHOICE_MS;
  }

  #apply(change: ForeignChange): void {
    switch (change.kind) {
      case "started":
        this.#runningElsewhere.add(change.run.seq);
        this.#decidedUntil = Math.max(this.#decidedUntil, change.decidedUntil ?? 0);
        this.#runs.note(change.run);
        return;
      case "added": {
        const { run, entry } = change;
        if (run.outcome === null) this.#runningElsewhere.add(run.seq);
        if (entry.decidedUntil !== undefined) this.#decidedUntil = Math.max(this.#decidedUntil, entry.decidedUntil);
        this.#handled = entry.handled ?? this.#handled;
        this.#runs.note(run);
        return;
      }
      case "finished":
        this.#runningElsewhere.delete(change.run.seq);
        this.#runs.note(change.run);
        return;
      case "holders":
        this.#holders = new Set(change.holders);
        return;
      case "released":
        this.#holders.delete(change.engine);
        return;
      case "unknown":
        this.readAgain();
    }
  }

  /**
   * True if ticks more than a minute in the future are already decided, because the clock was set back, perhaps while
   * the engine was down. Always false in a cluster, where the clock of another engine may be ahead: ticks wait until
   * the clock reaches the decided time.
   */
  #isAhead(now: number): boolean {
    return !this.#host.store.isShared && this.#decidedUntil > now + SET_BACK_MS;
  }

  /**
   * Returns the state after the clock was set back to `now`. Ticks of the last minute that have not started are started
   * late, as after a restart.
   */
  #rewound(now: number): { readonly decidedUntil: number; readonly handled: HandledTicks } {
    const decidedUntil = Math.min(now, Math.max(now - LATE_MS, firstHandled(this.#handled) - 1));
    return { decidedUntil, handled: endRange(this.#handled, this.#decidedUntil, decidedUntil + 1) };
  }

  #rewind(now: number): void {
    const { store, alarm } = this.#host;
    const { decidedUntil, handled } = this.#rewound(now);
    alarm.delete(this);
    this.#isRewinding = true;
    this.#reading = store.rewind({ id: this.id, decidedUntil, handled }).then(
      () => {
        this.#isRewinding = false;
        this.#triggers.report(undefined);
        this.#continueFrom(decidedUntil, handled);
      },
      (error: unknown) => {
        this.#isRewinding = false;
        this.#storeFailed(error);
        this.update();
      },
    );
    this.#host.track(this.#reading);
  }

  #continueFrom(decidedUntil: number, handled: HandledTicks): void {
    this.#decidedUntil = decidedUntil;
    this.#handled = handled;
    this.#backlogUntil = Number.NEGATIVE_INFINITY;
    this.#waitingFrom = undefined;
    this.update();
  }

  #decide(wallTime: number): void {
    const { alarm } = this.#host;
    const delay = this.#jitter + this.#lag;
    const now = wallTime - delay;
    const available = this.#triggers.available !== undefined;
    const { misfire, overlap } = this.settings;
    const schedule = unhandledTicks(this.settings.schedule, this.#handled.ranges);
    const plan = planTicks({
      schedule,
      misfire,
      overlap: this.#running >= MAX_RUNNING && overlap === "allow" ? "skip" : overlap,
      now,
      decidedUntil: this.#decidedUntil,
      available,
      running: this.#running + this.#runningElsewhere.size,
      backlogUntil: this.#backlogUntil,
      waitingFrom: this.#waitingFrom,
    });
    this.#backlogUntil = plan.backlogUntil;
    this.#waitingFrom = plan.waitingFrom;
    if (plan.skipped !== undefined) {
      this.#recordSkipped(plan.skipped, { schedule, now });
      this.#decidedUntil = plan.skipped.last;
    }
    for (const tick of plan.starts) this.#track(this.#run(tick));
    this.#decidedUntil = plan.decidedUntil;
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
    // While ticks wait for a slot, their starts are not stored, so the stored `decidedUntil` may be too early.
    this.#handled = stored.handled;
    this.#decidedUntil = this.#running > 0 ? Math.max(this.#decidedUntil, stored.decidedUntil) : stored.decidedUntil;
    this.#paused = stored.paused;
    this.#holders = new Set(stored.holders);
    this.#runningElsewhere = new Set(stored.running);
    this.#runs.adopt(stored.lastRun);
    // The stored job may already contain some of these changes. Applying such a change again has no effect.
    for (const change of this.#missed.splice(0)) this.#apply(change);
    if (this.#mustReadAgain) {
      this.#mustReadAgain = false;
      this.readAgain();
    }
    // During the shutdown nothing is redelivered. The store returns these runs again after the next start of the
    // engine.
    if (!this.#host.isDraining) for (const run of stored.toRedeliver) this.#track(this.#redeliver(run));
    this.update();
    if (this.isUnused) this.#host.onUnused(this);
  }

  async #run(tick: number): Promise<void> {
    const { clock, log, store, slots } = this.#host;
    const decidedBefore = this.#decidedUntil;
    this.#running += 1;
    this.#unstored.add(tick);
    const release = await slots.take(this.#triggers.principal);
    this.#unstored.delete(tick);
    try {
      const binding = this.#triggers.available ?? this.#triggers.first;
      if (release === undefined || binding === undefined) {
        // The tick becomes undecided again. It is decided after the next start of the engine, or when the job gets a
        // trigger.
        this.#decidedUntil = Math.min(this.#decidedUntil, decidedBefore);
        return;
      }
      const run: NewRun = {
        scheduledAt: tick,
        startedAt: clock.now(),
        finishedAt: null,
        outcome: null,
        error: null,
        manual: false,
        skippedCount: 0,
      };
      const entry = { id: this.id, run, decidedUntil: Math.max(tick, this.#storable(this.#decidedUntil)) };
      const start = await store.start(entry, this.settings.overlap === "allow");
      this.#triggers.report(undefined);
      if (start.status === "overlaps") {
        // Another engine runs the job, and its run is known here by now. The tick becomes undecided: the overlap policy
        // decides about it, or it starts if that run has ended.
        this.#decidedUntil = Math.min(this.#decidedUntil, decidedBefore);
        return;
      }
      if (start.status === "decided") {
        const facts = { job: this.id, function: this.#functionId, tick };
        // In a cluster, another engine was faster.
        log[store.isShared ? "debug" : "warn"]("tick of a cron trigger not started: it was already decided", facts);
        return;
      }
      this.#runs.note(start.run);
      const delivered = await this.#host.deliver(this, binding, start.run);
      if (delivered.outcome === "refused" && (await this.#undoStart(start.run, decidedBefore))) return;
      this.#runs.finish(start.run, delivered);
    } catch (error) {
      // The tick is tried again. If its start was stored in spite of the error, the store refuses the next attempt.
      this.#decidedUntil = Math.min(this.#decidedUntil, decidedBefore);
      this.#storeFailed(error);
    } finally {
      this.#ended(release);
    }
  }

  /**
   * Undoes the start of a run that was never delivered, so that the misfire policy decides when it runs. Returns false
   * if the store refuses.
   */
  async #undoStart(run: Run, decidedUntil: number): Promise<boolean> {
    if (!(await this.#host.store.undoStart({ id: this.id, seq: run.seq, scheduledAt: run.scheduledAt, decidedUntil })))
      return false;
    this.#decidedUntil = decidedUntil;
    this.#runs.forget(run);
    this.#retryAt = this.#host.clock.monotonic() + RETRY_MS;
    return true;
  }

  async #redeliver(run: Run): Promise<void> {
    const binding = this.#triggers.first;
    if (binding === undefined) return;
    this.#running += 1;
    try {
      this.#runs.finish(run, await this.#host.deliver(this, binding, run));
    } finally {
      this.#ended(undefined);
    }
  }

  #ended(releaseSlot: Undo | undefined): void {
    this.#running -= 1;
    releaseSlot?.();
    this.update();
    if (this.isUnused) this.#host.onUnused(this);
  }

  #recordSkipped(
    { reason, last, count }: SkippedTicks,
    { schedule, now }: { readonly schedule: Schedule; readonly now: number },
  ): void {
    const { outcome, error } = SKIPPED[reason];
    // Ticks of the last minute are handled, because they could have started. Older ticks could not start, so they are
    // not handled: they may start if the clock is set back to a time before them.
    const isLate = (schedule.next(this.#decidedUntil) ?? now) < now - LATE_MS;
    if (isLate) this.#handled = endRange(this.#handled, this.#decidedUntil, last + 1);
    this.#triggers.report(undefined);
    this.#runs.recordSkipped(
      { outcome, error, last, count },
      { decidedUntil: this.#storable(last), handled: isLate ? this.#handled : undefined },
    );
  }

  /**
   * Returns the time up to which the store may treat ticks as decided. It is before every tick whose start is not
   * stored yet.
   */
  #storable(decidedUntil: number): number {
    return Math.min(decidedUntil, ...[...this.#unstored].map((tick) => tick - 1));
  }

  #storeFailed(error: unknown): void {
    this.#triggers.report(`cannot be stored: ${error instanceof Error ? error.message : String(error)}`);
    this.#retryAt = this.#host.clock.monotonic() + RETRY_MS;
  }

  #track(work: Promise<void>): void {
    this.#host.track(
      work.catch((error: unknown) =>
        this.#host.log.error("cron trigger failed because of an engine defect", {
          job: this.id,
          function: this.#functionId,
          error,
        }),
      ),
    );
  }
}
