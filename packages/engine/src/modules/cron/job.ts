import type { Due } from "../../collections/due-queue.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import { type Principal, TRUSTED, type TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { Alarm } from "./alarm.ts";
import type { Delivered } from "./delivery.ts";
import type { FairSemaphore } from "./fair-semaphore.ts";
import { LATE_MS, MAX_CATCH_UP, type PassedOver, planTicks } from "./plan.ts";
import type { Schedule } from "./schedule.ts";
import { type CronSettings, jitterOf, settingsText } from "./settings.ts";
import type { CronStore } from "./store/cron-store.ts";
import { endRange, firstHandled, type HandledTicks } from "./store/handled-ticks.ts";
import type { Outcome, Run, StoredJob } from "./store/rows.ts";
import { unhandledTicks } from "./unhandled-ticks.ts";

/** A clock that was set back by more goes on at the next instant of the new time; by less, ticks wait until it is again where it was. */
const SET_BACK_MS = 60_000;
/** After the store failed, or nobody took a call, in milliseconds. */
const RETRY_MS = 1_000;
/** Runs of one job at a time where it allows them to overlap; more are passed over. */
const MAX_RUNNING = 100;
/** Starts of a former run of the engine are put on their queue again for so long: well within the time that the queue remembers a dedupe key. */
const REDELIVER_MS = 5 * 60_000;

const PASSED_OVER: Readonly<Record<PassedOver["reason"], { readonly outcome: Outcome; readonly error: string }>> = {
  missed: { outcome: "skipped", error: "missed: it could not start for more than 60 s, and the misfire policy passes it over" },
  superseded: { outcome: "skipped", error: "a later tick, which was started, stands for it" },
  capped: { outcome: "skipped", error: `missed: of the ticks that were missed, the latest ${MAX_CATCH_UP} are started` },
  overlap: { outcome: "skipped", error: "the run before had not ended" },
  absent: { outcome: "error", error: "nobody was there to run it: its function or its worker is away" },
};

/** What jobs share. */
export interface JobHost {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: CronStore;
  readonly alarm: Alarm<CronJob>;
  readonly slots: FairSemaphore;
  /** The module is stopping: nothing more is started. */
  readonly stopped: boolean;
  /** The same from the moment on at which the engine begins to shut down: what comes due is for the misfire policy of the next start. */
  readonly startsNone: boolean;
  isAvailable(binding: TriggerBinding<CronSettings>): boolean;
  deliver(job: CronJob, binding: TriggerBinding<CronSettings>, run: Run): Promise<Delivered>;
  /** Nobody asks for the job any more, and nothing of it runs. */
  onOver(job: CronJob): void;
  /** Has it waited for at a stop. */
  track(work: Promise<unknown>): void;
}

/** One schedule of one function, however many triggers ask for it. Decides what becomes of its ticks; each is started at most once. */
export class CronJob implements Due {
  dueAt = 0;
  place = -1;
  readonly id: string;
  readonly settings: CronSettings;
  readonly #bindings = new Set<TriggerBinding<CronSettings>>();
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
  /** Ticks that are started as soon as there is a slot. */
  readonly #unstored = new Set<number>();
  /** Resolves when what is kept of it was read or could not be; until then nothing that is asked of it would be found in the store. */
  #reading: Promise<void> | undefined;
  #nextSeq = 1;
  #paused = false;
  /** Monotonic. */
  #retryAt = Number.NEGATIVE_INFINITY;
  #isAwaitingSomeone = false;
  /** As the bindings show it. */
  #problem: string | undefined;
  #lastRun: Run | undefined;

  constructor(id: string, functionId: string, settings: CronSettings, host: JobHost) {
    this.id = id;
    this.settings = settings;
    this.#functionId = functionId;
    this.#host = host;
    this.#jitter = jitterOf(id, settings);
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** False until what is kept of it was read. */
  get isReady(): boolean {
    return this.#state === "ready";
  }

  get lastRun(): Run | undefined {
    return this.#lastRun;
  }

  /** The next ticks that will be started, at most `count`. */
  nextTicks(count: number, now: number): readonly number[] {
    const isAhead = this.#isAhead(now);
    const { ranges } = isAhead ? this.#rewound(now).handled : this.#handled;
    const schedule = unhandledTicks(this.settings.schedule, ranges);
    const ticks: number[] = [];
    let tick = schedule.next(isAhead ? now : Math.max(now, this.#decidedUntil));
    for (; tick !== undefined && ticks.length < count; tick = schedule.next(tick)) ticks.push(tick);
    return ticks;
  }

  /** Nobody asks for it, and nothing of it runs. */
  get isOver(): boolean {
    return this.#bindings.size === 0 && this.#running === 0 && this.#state !== "reading";
  }

  /** Due ticks wait for somebody to run them. */
  get isAwaitingSomeone(): boolean {
    return this.#isAwaitingSomeone;
  }

  add(binding: TriggerBinding<CronSettings>): void {
    this.#bindings.add(binding);
    if (this.#problem !== undefined) binding.report(this.#problem);
    if (this.#bindings.size > 1) {
      if (binding.principal.isTrusted) this.#own(true);
      return;
    }
    // Nothing is known of what happened to it while nobody asked for it.
    this.#state = "unread";
    this.look();
  }

  remove(binding: TriggerBinding<CronSettings>): void {
    this.#bindings.delete(binding);
    const { isTrusted } = binding.principal;
    if (this.#bindings.size > 0) {
      if (isTrusted && binding.ended === "withdrawn" && !this.#isAskedByTrusted) this.#own(false);
      return;
    }
    const { alarm, store, clock, log, stopped } = this.#host;
    alarm.delete(this);
    this.#isAwaitingSomeone = false;
    if (this.isOver) this.#host.onOver(this);
    if (stopped || binding.ended !== "withdrawn") return;
    this.#host.track(
      store
        .retire({ id: this.id, now: clock.now(), isTrusted })
        .catch((error: unknown) => log.debug("the end of a cron trigger could not be stored", { job: this.id, error })),
    );
  }

  /** Call when the principal of one of its triggers has become another. */
  principalChanged(binding: TriggerBinding<CronSettings>): void {
    if (binding.principal.isTrusted) this.#own(true);
    else if (binding.isGivenUp && !this.#isAskedByTrusted) this.#own(false);
  }

  get #isAskedByTrusted(): boolean {
    return [...this.#bindings].some(({ principal }) => principal.isTrusted);
  }

  /** Stores whether it is a trusted worker's: a restricted connection that leaves an equal trigger must not drop what that worker misses. */
  #own(isTrusted: boolean): void {
    const { store, log, stopped } = this.#host;
    if (stopped) return;
    this.#host.track(
      store
        .own({ id: this.id, isTrusted })
        .catch((error: unknown) => log.warn("the owner of a cron trigger could not be stored", { job: this.id, function: this.#functionId, error })),
    );
  }

  /** Decides on the ticks that are due, and sees to it that the next ones are looked at. */
  look(): void {
    const { clock, alarm } = this.#host;
    const now = clock.now();
    if (this.#isRewinding) return;
    this.#isAwaitingSomeone = false;
    if (this.#host.startsNone || this.#bindings.size === 0) return;
    const wait = this.#retryAt - clock.monotonic();
    if (wait > 0) alarm.set(this, now + wait);
    else if (this.#state !== "ready") this.#read();
    else if (this.#paused) return;
    else if (this.#isAhead(now)) this.#rewind(now);
    else this.#decide(now);
  }

  /** Starts it now, whatever its schedule says. Resolves when it has ended; rejects with CallError when it could not be started. */
  async trigger(): Promise<{ readonly run: Run; readonly result: Delivered["result"] }> {
    const { clock, store, slots } = this.#host;
    const scheduledAt = clock.now();
    await this.#reading;
    const run: Run = { seq: 0, scheduledAt, startedAt: null, finishedAt: null, outcome: null, error: null, manual: true, passedOver: 0 };
    const binding = this.#binding() ?? this.#bindings.values().next().value;
    if (binding === undefined || this.#state !== "ready") return { run: { ...run, outcome: "error", error: "the trigger is not ready" }, result: undefined };
    if (this.#running > 0 && (this.settings.overlap !== "allow" || this.#running >= MAX_RUNNING)) {
      return { run: { ...run, outcome: "skipped", error: PASSED_OVER.overlap.error }, result: undefined };
    }
    this.#running += 1;
    const release = await slots.take(binding.principal);
    try {
      if (release === undefined) return { run: { ...run, outcome: "error", error: "the engine is shutting down" }, result: undefined };
      const started: Run = { ...run, seq: this.#nextSeq++, startedAt: clock.now() };
      await store.record({ id: this.id, run: started, decidedUntil: undefined });
      this.#note(started);
      const delivered = await this.#host.deliver(this, binding, started);
      return { run: this.#finish(started, delivered), result: delivered.result };
    } finally {
      this.#ended(release);
    }
  }

  /** No tick starts until `resume`, over restarts too. */
  async pause(): Promise<void> {
    await this.#reading;
    await this.#host.store.setPaused(this.id, true);
    this.#paused = true;
    this.#host.alarm.delete(this);
  }

  /** Goes on with the next tick from now. */
  async resume(): Promise<void> {
    await this.#reading;
    const now = this.#host.clock.now();
    if (!this.#paused && this.#decidedUntil <= now) return;
    const handled = endRange(this.#handled, this.#decidedUntil, now + 1);
    await this.#host.store.setPaused(this.id, false, { until: now, handled });
    this.#paused = false;
    this.#goOnFrom(now, handled);
  }

  /** Ticks were decided on that are more than a minute in the future: the clock was set back, perhaps while the engine did not run. */
  #isAhead(now: number): boolean {
    return this.#decidedUntil > now + SET_BACK_MS;
  }

  /** As it is to be for a clock that was set back to `now`. Ticks of the last minute that have not been started are started late, as after a restart. */
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
        this.#report(undefined);
        this.#goOnFrom(decidedUntil, handled);
      },
      (error: unknown) => {
        this.#isRewinding = false;
        this.#storeFailed(error);
        this.look();
      },
    );
    this.#host.track(this.#reading);
  }

  #goOnFrom(decidedUntil: number, handled: HandledTicks): void {
    this.#decidedUntil = decidedUntil;
    this.#handled = handled;
    this.#backlogUntil = Number.NEGATIVE_INFINITY;
    this.#waitingFrom = undefined;
    this.look();
  }

  #decide(wallTime: number): void {
    const { alarm } = this.#host;
    const now = wallTime - this.#jitter;
    const available = this.#binding() !== undefined;
    const { misfire, overlap } = this.settings;
    const schedule = unhandledTicks(this.settings.schedule, this.#handled.ranges);
    const plan = planTicks({
      schedule,
      misfire,
      overlap: this.#running >= MAX_RUNNING && overlap === "allow" ? "skip" : overlap,
      now,
      decidedUntil: this.#decidedUntil,
      available,
      running: this.#running,
      backlogUntil: this.#backlogUntil,
      waitingFrom: this.#waitingFrom,
    });
    this.#backlogUntil = plan.backlogUntil;
    this.#waitingFrom = plan.waitingFrom;
    if (plan.passedOver !== undefined) {
      this.#passOver(plan.passedOver, { schedule, now });
      this.#decidedUntil = plan.passedOver.last;
    }
    for (const tick of plan.starts) this.#track(this.#run(tick));
    this.#decidedUntil = plan.decidedUntil;
    this.#isAwaitingSomeone = !available;
    if (plan.lookAt !== undefined) alarm.set(this, plan.lookAt + this.#jitter);
  }

  #binding(): TriggerBinding<CronSettings> | undefined {
    const available = [...this.#bindings].filter((binding) => this.#host.isAvailable(binding));
    return available.find(({ principal }) => principal.isTrusted) ?? available[0];
  }

  /** Whose share of the slots its runs take. */
  get #principal(): Principal {
    const principals = [...this.#bindings].map(({ principal }) => principal);
    return principals.find(({ isTrusted }) => isTrusted) ?? principals[0] ?? TRUSTED;
  }

  #read(): void {
    if (this.#state === "reading") return;
    this.#state = "reading";
    const { store, clock } = this.#host;
    const now = clock.now();
    const redeliverFrom = this.settings.queue === undefined ? undefined : now - REDELIVER_MS;
    const adoption = { id: this.id, functionId: this.#functionId, config: settingsText(this.settings), now, redeliverFrom, isTrusted: this.#isAskedByTrusted };
    this.#reading = store.adopt(adoption).then(
      (stored) => this.#adopt(stored),
      (error: unknown) => {
        this.#state = "unread";
        this.#storeFailed(error);
        this.look();
        if (this.isOver) this.#host.onOver(this);
      },
    );
    this.#host.track(this.#reading);
  }

  #adopt(stored: StoredJob): void {
    this.#state = "ready";
    this.#report(undefined);
    // Runs that wait for their turn have not been stored.
    this.#handled = stored.handled;
    this.#decidedUntil = this.#running > 0 ? Math.max(this.#decidedUntil, stored.decidedUntil) : stored.decidedUntil;
    this.#paused = stored.paused;
    if (this.#lastRun === undefined || (stored.lastRun?.seq ?? 0) > this.#lastRun.seq) this.#lastRun = stored.lastRun;
    this.#nextSeq = Math.max(this.#nextSeq, (stored.lastRun?.seq ?? 0) + 1);
    // Those that are left are handed back at the next start.
    if (!this.#host.startsNone) for (const run of stored.toRedeliver) this.#track(this.#redeliver(run));
    this.look();
    if (this.isOver) this.#host.onOver(this);
  }

  async #run(tick: number): Promise<void> {
    const { clock, log, store, slots } = this.#host;
    const decidedBefore = this.#decidedUntil;
    this.#running += 1;
    this.#unstored.add(tick);
    const release = await slots.take(this.#principal);
    this.#unstored.delete(tick);
    try {
      const binding = this.#binding() ?? this.#bindings.values().next().value;
      if (release === undefined || binding === undefined) {
        // That is for the next start of the engine, or for whoever asks for the job again.
        this.#decidedUntil = Math.min(this.#decidedUntil, decidedBefore);
        return;
      }
      const run: Run = {
        seq: this.#nextSeq++,
        scheduledAt: tick,
        startedAt: clock.now(),
        finishedAt: null,
        outcome: null,
        error: null,
        manual: false,
        passedOver: 0,
      };
      if (!(await store.start({ id: this.id, run, decidedUntil: Math.max(tick, this.#storable(this.#decidedUntil)) }))) {
        log.warn("a tick of a cron trigger was not started, because it had been decided on before", { job: this.id, function: this.#functionId, tick });
        return;
      }
      this.#note(run);
      this.#report(undefined);
      const delivered = await this.#host.deliver(this, binding, run);
      if (delivered.outcome === "refused" && (await this.#takeBack(run, decidedBefore))) return;
      this.#finish(run, delivered);
    } catch (error) {
      // It may have been stored as started all the same; then the store refuses it the next time.
      this.#decidedUntil = Math.min(this.#decidedUntil, decidedBefore);
      this.#storeFailed(error);
    } finally {
      this.#ended(release);
    }
  }

  /** Undoes the start of a run that was never delivered, so that the misfire policy decides when it runs. Returns false if the store refuses. */
  async #takeBack(run: Run, decidedUntil: number): Promise<boolean> {
    if (!(await this.#host.store.takeBackStart({ id: this.id, seq: run.seq, scheduledAt: run.scheduledAt, decidedUntil }))) return false;
    this.#decidedUntil = decidedUntil;
    if (this.#lastRun?.seq === run.seq) this.#lastRun = undefined;
    this.#retryAt = this.#host.clock.monotonic() + RETRY_MS;
    return true;
  }

  async #redeliver(run: Run): Promise<void> {
    const binding = this.#bindings.values().next().value;
    if (binding === undefined) return;
    this.#running += 1;
    try {
      this.#finish(run, await this.#host.deliver(this, binding, run));
    } finally {
      this.#ended(undefined);
    }
  }

  #finish(run: Run, { outcome, error }: Delivered): Run {
    const finished: Run = { ...run, finishedAt: this.#host.clock.now(), outcome: outcome === "refused" ? "error" : outcome, error };
    if (finished.outcome === "error") this.#host.log.warn("a run of a cron trigger failed", { job: this.id, function: this.#functionId, error });
    this.#record(finished, undefined);
    return finished;
  }

  #ended(releaseSlot: Undo | undefined): void {
    this.#running -= 1;
    releaseSlot?.();
    this.look();
    if (this.isOver) this.#host.onOver(this);
  }

  /** One line stands for all that are passed over in a row for the same reason. */
  #passOver({ reason, last, count }: PassedOver, { schedule, now }: { readonly schedule: Schedule; readonly now: number }): void {
    const { outcome, error } = PASSED_OVER[reason];
    // Those that came due less than a minute ago had their chance. Others did not, and may start if the clock is set back to before them.
    const isLate = (schedule.next(this.#decidedUntil) ?? now) < now - LATE_MS;
    if (isLate) this.#handled = endRange(this.#handled, this.#decidedUntil, last + 1);
    this.#report(undefined);
    const before = this.#lastRun;
    const isSame = before !== undefined && before.startedAt === null && before.error === error;
    this.#record(
      {
        seq: isSame ? before.seq : this.#nextSeq++,
        scheduledAt: last,
        startedAt: null,
        finishedAt: this.#host.clock.now(),
        outcome,
        error,
        manual: false,
        passedOver: (isSame ? before.passedOver : 0) + Math.min(count, MAX_CATCH_UP),
      },
      this.#storable(last),
      isLate ? this.#handled : undefined,
    );
  }

  /** Up to where the store may take ticks for decided on: not past those that it has not been told of. */
  #storable(decidedUntil: number): number {
    return Math.min(decidedUntil, ...[...this.#unstored].map((tick) => tick - 1));
  }

  #record(run: Run, decidedUntil: number | undefined, handled?: HandledTicks): void {
    const { store, log } = this.#host;
    this.#note(run);
    this.#host.track(
      store
        .record({ id: this.id, run, decidedUntil, ...(handled === undefined ? {} : { handled }) })
        .catch((error: unknown) => log.warn("how a tick of a cron trigger ended could not be stored", { job: this.id, function: this.#functionId, error })),
    );
  }

  #note(run: Run): void {
    if (this.#lastRun === undefined || run.seq >= this.#lastRun.seq) this.#lastRun = run;
  }

  #storeFailed(error: unknown): void {
    this.#report(`it cannot be stored: ${error instanceof Error ? error.message : String(error)}`);
    this.#retryAt = this.#host.clock.monotonic() + RETRY_MS;
  }

  #report(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    for (const binding of this.#bindings) binding.report(problem);
  }

  #track(work: Promise<void>): void {
    this.#host.track(
      work.catch((error: unknown) => this.#host.log.error("a cron trigger met a defect of the engine", { job: this.id, function: this.#functionId, error })),
    );
  }
}
