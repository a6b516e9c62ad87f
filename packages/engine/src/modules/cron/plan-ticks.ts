import type { Schedule } from "./schedule.ts";
import type { Misfire, Overlap } from "./settings.ts";

/** A tick that could not start within this time has misfired. In milliseconds. */
export const LATE_MS = 60_000;
/**
 * Maximum number of missed ticks that are started, and of skipped ticks that are counted, for each period without
 * starts.
 */
export const MAX_CATCH_UP = 100;

/** State of a job at one time. All times are without the job's jitter. */
export interface PlanInput {
  readonly schedule: Schedule;
  readonly misfire: Misfire;
  readonly overlap: Overlap;
  readonly now: number;
  /** Every tick up to this time is decided. */
  readonly decidedUntil: number;
  /** True if a worker is available to run the function. */
  readonly available: boolean;
  readonly running: number;
  /** Ticks up to this time were missed. They are started one after the other. */
  readonly backlogUntil: number;
  /** The first tick that was due during a run and waits for the end of the run. */
  readonly waitingFrom: number | undefined;
}

/** Skipped ticks. */
export interface SkippedTicks {
  /**
   * `missed`: the misfire policy skips late ticks. `superseded`: a later tick is started instead. `capped`: only the
   * latest MAX_CATCH_UP missed ticks are started. `overlap`: a run had not ended. `absent`: no worker was available.
   */
  readonly reason: "missed" | "superseded" | "capped" | "overlap" | "absent";
  readonly last: number;
  /** Number of ticks, at most MAX_CATCH_UP. */
  readonly count: number;
}

export interface Plan {
  /** Ticks to start, in order. */
  readonly starts: readonly number[];
  readonly skipped: SkippedTicks | undefined;
  readonly decidedUntil: number;
  readonly backlogUntil: number;
  readonly waitingFrom: number | undefined;
  /**
   * Time of the next check. If it is undefined, the next check is made when a run ends or when a worker is available.
   */
  readonly checkAt: number | undefined;
}

/** Decides what happens with the due ticks. */
export function planTicks(input: PlanInput): Plan {
  const { schedule, now, decidedUntil, overlap, misfire, running, backlogUntil } = input;
  const hold: Plan = {
    starts: [],
    skipped: undefined,
    decidedUntil,
    backlogUntil,
    waitingFrom: input.waitingFrom,
    checkAt: undefined,
  };
  const first = schedule.next(decidedUntil);
  if (first === undefined) return hold;
  if (first > now) return { ...hold, waitingFrom: undefined, checkAt: first };
  if (running > 0 && overlap !== "allow") {
    if (overlap === "queue_one" || first <= backlogUntil) return { ...hold, waitingFrom: input.waitingFrom ?? first };
    return withNextCheck(input, skipTicks(input, "overlap", now));
  }
  if (!input.available) {
    // Waits for a worker. If the misfire policy skips late ticks, ticks that waited for a minute are reported as
    // skipped.
    if (misfire !== "skip") return hold;
    return first > now - LATE_MS
      ? { ...hold, checkAt: now + LATE_MS }
      : { ...withNextCheck(input, skipTicks(input, "absent", now - LATE_MS)), checkAt: now + LATE_MS };
  }
  return withNextCheck(input, startDue(input, first));
}

type Step = Omit<Plan, "checkAt">;

function startDue(input: PlanInput, first: number): Step {
  const { schedule, misfire, overlap, now, decidedUntil, backlogUntil, waitingFrom } = input;
  const one = overlap !== "allow";
  const isBacklog = first <= backlogUntil;
  if (misfire === "all" && (isBacklog || waitingFrom === undefined)) {
    const until = isBacklog ? backlogUntil : now;
    const due = schedule.latest(MAX_CATCH_UP, decidedUntil, until);
    const starts = one ? due.slice(0, 1) : due;
    return done(input, {
      starts,
      decidedUntil: starts.at(-1) ?? decidedUntil,
      backlogUntil: starts.length < due.length ? until : backlogUntil,
    });
  }
  const due = schedule.latest(MAX_CATCH_UP, decidedUntil, now);
  const freshFrom = Math.min(now - LATE_MS, waitingFrom ?? now);
  const fresh = due.filter((tick) => tick >= freshFrom);
  const wanted = fresh.length === 0 && misfire === "once" ? due.slice(-1) : fresh;
  const starts = one ? wanted.slice(-1) : wanted;
  return starts.length === 0
    ? skipTicks(input, "missed", now)
    : done(input, { starts, decidedUntil: due.at(-1) as number, backlogUntil });
}

/** Completes a step: due ticks before the first started tick are skipped. */
function done(input: PlanInput, step: Pick<Step, "starts" | "decidedUntil" | "backlogUntil">): Step {
  const { skipped } = skipTicks(input, "missed", (step.starts[0] ?? input.decidedUntil) - 1);
  const reason = skipped && reasonFor(input, skipped.last);
  return { ...step, skipped: skipped && reason && { ...skipped, reason }, waitingFrom: undefined };
}

/** Returns why ticks up to `last` are skipped in favour of a started one. */
function reasonFor({ misfire, waitingFrom, now }: PlanInput, last: number): SkippedTicks["reason"] {
  if (waitingFrom !== undefined) return "overlap";
  if (misfire === "all") return "capped";
  return misfire === "once" || last >= now - LATE_MS ? "superseded" : "missed";
}

function skipTicks(input: PlanInput, reason: SkippedTicks["reason"], until: number): Step {
  const { schedule, decidedUntil, backlogUntil } = input;
  const ticks = schedule.latest(MAX_CATCH_UP, decidedUntil, until);
  const last = ticks.at(-1);
  const skipped = last === undefined ? undefined : { reason, last, count: ticks.length };
  return { starts: [], skipped, decidedUntil: last ?? decidedUntil, backlogUntil, waitingFrom: undefined };
}

function withNextCheck({ schedule }: PlanInput, step: Step): Plan {
  return { ...step, checkAt: schedule.next(step.decidedUntil) };
}
