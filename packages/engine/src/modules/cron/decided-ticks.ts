import { LATE_MS, type Plan, type PlanInput, planTicks, type SkippedTicks } from "./plan-ticks.ts";
import type { Schedule } from "./schedule.ts";
import { endRange, firstHandled, type HandledTicks } from "./store/handled-ticks.ts";
import type { StoredJob } from "./store/rows.ts";
import { unhandledTicks } from "./unhandled-ticks.ts";

/**
 * If the clock was set back by more than this, ticks continue at the new time. If it was set back by less, ticks wait
 * until the clock reaches the old time again.
 */
const SET_BACK_MS = 60_000;

/** Up to which time ticks are decided, and which ticks must not start again. */
export interface Decided {
  readonly decidedUntil: number;
  readonly handled: HandledTicks;
}

/** Knows which ticks of a job are decided, i.e. started or skipped. A decided tick does not start again. */
export class DecidedTicks {
  readonly #schedule: Schedule;
  readonly #isShared: boolean;
  #until = 0;
  #handled: HandledTicks = { since: 0, ranges: [] };
  #backlogUntil = Number.NEGATIVE_INFINITY;
  #waitingFrom: number | undefined;
  /** Ticks that are decided and wait for a slot. Their starts are not stored yet. */
  readonly #unstored = new Set<number>();

  /** `isShared` is true if several engines share the job. */
  constructor(schedule: Schedule, isShared: boolean) {
    this.#schedule = schedule;
    this.#isShared = isShared;
  }

  /** Every tick up to this time is decided. */
  get until(): number {
    return this.#until;
  }

  /** Returns the next ticks to start, at most `count`. */
  next(count: number, now: number): readonly number[] {
    const isAhead = this.isAhead(now);
    const { ranges } = isAhead ? this.rewound(now).handled : this.#handled;
    const schedule = unhandledTicks(this.#schedule, ranges);
    const ticks: number[] = [];
    let tick = schedule.next(isAhead ? now : Math.max(now, this.#until));
    for (; tick !== undefined && ticks.length < count; tick = schedule.next(tick)) ticks.push(tick);
    return ticks;
  }

  /**
   * True if ticks more than a minute in the future are already decided, because the clock was set back, perhaps while
   * the engine was down. Always false in a cluster, where the clock of another engine may be ahead: ticks wait until
   * the clock reaches the decided time.
   */
  isAhead(now: number): boolean {
    return !this.#isShared && this.#until > now + SET_BACK_MS;
  }

  /**
   * Returns the state after the clock was set back to `now`. Ticks of the last minute that have not started are started
   * late, as after a restart.
   */
  rewound(now: number): Decided {
    const decidedUntil = Math.min(now, Math.max(now - LATE_MS, firstHandled(this.#handled) - 1));
    return { decidedUntil, handled: endRange(this.#handled, this.#until, decidedUntil + 1) };
  }

  /** Returns the state after a pause that ends at `now`. Ticks that were due during the pause are decided. */
  resumed(now: number): Decided {
    return { decidedUntil: now, handled: endRange(this.#handled, this.#until, now + 1) };
  }

  /** Continues from a state that `rewound` or `resumed` returned. Forgets the backlog of missed ticks. */
  continueFrom({ decidedUntil, handled }: Decided): void {
    this.#until = decidedUntil;
    this.#handled = handled;
    this.#backlogUntil = Number.NEGATIVE_INFINITY;
    this.#waitingFrom = undefined;
  }

  /** Takes over the stored state. `isRunning` is true if runs of the job are in progress at this engine. */
  adopt({ decidedUntil, handled }: Pick<StoredJob, "decidedUntil" | "handled">, isRunning: boolean): void {
    this.#handled = handled;
    // While ticks wait for a slot, their starts are not stored, so the stored time may be too early.
    this.#until = isRunning ? Math.max(this.#until, decidedUntil) : decidedUntil;
  }

  /** Takes over what another engine decided. */
  decidedElsewhere({
    decidedUntil,
    handled,
  }: {
    readonly decidedUntil: number | undefined;
    readonly handled?: HandledTicks | undefined;
  }): void {
    this.#until = Math.max(this.#until, decidedUntil ?? 0);
    this.#handled = handled ?? this.#handled;
  }

  /** Plans what happens with the due ticks. Call `skip` and `decide` to carry the plan out. */
  plan(input: Omit<PlanInput, "schedule" | "decidedUntil" | "backlogUntil" | "waitingFrom">): Plan {
    const plan = planTicks({
      ...input,
      schedule: unhandledTicks(this.#schedule, this.#handled.ranges),
      decidedUntil: this.#until,
      backlogUntil: this.#backlogUntil,
      waitingFrom: this.#waitingFrom,
    });
    this.#backlogUntil = plan.backlogUntil;
    this.#waitingFrom = plan.waitingFrom;
    return plan;
  }

  /** Decides that ticks are skipped. Returns what the store needs to know. `handled` is undefined if it is unchanged. */
  skip(
    { last }: Pick<SkippedTicks, "last">,
    now: number,
  ): { readonly decidedUntil: number; readonly handled: HandledTicks | undefined } {
    // Ticks of the last minute are handled, because they could have started. Older ticks could not start, so they are
    // not handled: they may start if the clock is set back to a time before them.
    const schedule = unhandledTicks(this.#schedule, this.#handled.ranges);
    const isLate = (schedule.next(this.#until) ?? now) < now - LATE_MS;
    if (isLate) this.#handled = endRange(this.#handled, this.#until, last + 1);
    this.#until = last;
    return { decidedUntil: this.#storable(last), handled: isLate ? this.#handled : undefined };
  }

  /** Decides all ticks up to this time. */
  decide(until: number): void {
    this.#until = until;
  }

  /** Makes ticks after this time undecided again, e.g. because a start was not stored. */
  undecide(after: number): void {
    this.#until = Math.min(this.#until, after);
  }

  /** Call when a decided tick begins to wait for a slot. */
  waitsForSlot(tick: number): void {
    this.#unstored.add(tick);
  }

  /** Call when a tick has got its slot, or will get none. */
  gotSlot(tick: number): void {
    this.#unstored.delete(tick);
  }

  /** Returns the time up to which the store may treat ticks as decided when the start of `tick` is stored. */
  decidedByStart(tick: number): number {
    return Math.max(tick, this.#storable(this.#until));
  }

  /** Returns the latest time up to `decidedUntil` that is before every tick whose start is not stored yet. */
  #storable(decidedUntil: number): number {
    return Math.min(decidedUntil, ...[...this.#unstored].map((tick) => tick - 1));
  }
}
