import type { Schedule } from "./schedule.ts";
import type { Misfire, Overlap } from "./settings.ts";

/** A tick that could not start for so long has misfired. */
export const LATE_MS = 60_000;
/** Ticks that are started for what was missed, at most; and ticks passed over that are counted. */
export const MAX_CATCH_UP = 100;

/** How a job stands at one instant. Instants are those of its ticks: what jitter adds has been taken off. */
export interface Situation {
  readonly schedule: Schedule;
  readonly misfire: Misfire;
  readonly overlap: Overlap;
  readonly now: number;
  /** Every tick up to here has been decided on. */
  readonly decidedUntil: number;
  /** Somebody is there to run it. */
  readonly available: boolean;
  readonly running: number;
  /** Ticks up to here were missed, and are run one after the other. */
  readonly backlogUntil: number;
  /** The first of the ticks that came due while a run went on and wait for its end. */
  readonly waitingFrom: number | undefined;
}

/** Ticks that nothing is started for. */
export interface PassedOver {
  /** `superseded`: a later tick stands for them; `capped`: only the latest of those that were missed are started. */
  readonly reason: "missed" | "superseded" | "capped" | "overlap" | "absent";
  readonly last: number;
  /** At most MAX_CATCH_UP are counted. */
  readonly count: number;
}

export interface Plan {
  /** In order. */
  readonly starts: readonly number[];
  readonly passedOver: PassedOver | undefined;
  readonly decidedUntil: number;
  readonly backlogUntil: number;
  readonly waitingFrom: number | undefined;
  /** When to look again; undefined: when a run ends, when somebody is there, or never. */
  readonly lookAt: number | undefined;
}

/** What to do about the ticks that are due. */
export function planTicks(situation: Situation): Plan {
  const { schedule, now, decidedUntil, overlap, misfire, running, backlogUntil } = situation;
  const hold: Plan = { starts: [], passedOver: undefined, decidedUntil, backlogUntil, waitingFrom: situation.waitingFrom, lookAt: undefined };
  const first = schedule.next(decidedUntil);
  if (first === undefined) return hold;
  if (first > now) return { ...hold, waitingFrom: undefined, lookAt: first };
  if (running > 0 && overlap !== "allow") {
    if (overlap === "queue_one" || first <= backlogUntil) return { ...hold, waitingFrom: situation.waitingFrom ?? first };
    return withLook(situation, passOver(situation, "overlap", now));
  }
  if (!situation.available) {
    // Until somebody comes; but what will not be caught up is not kept in the dark for ever.
    if (misfire !== "skip") return hold;
    return first > now - LATE_MS
      ? { ...hold, lookAt: now + LATE_MS }
      : { ...withLook(situation, passOver(situation, "absent", now - LATE_MS)), lookAt: now + LATE_MS };
  }
  return withLook(situation, startDue(situation, first));
}

type Step = Omit<Plan, "lookAt">;

function startDue(situation: Situation, first: number): Step {
  const { schedule, misfire, overlap, now, decidedUntil, backlogUntil, waitingFrom } = situation;
  const one = overlap !== "allow";
  const isBacklog = first <= backlogUntil;
  if (misfire === "all" && (isBacklog || waitingFrom === undefined)) {
    const until = isBacklog ? backlogUntil : now;
    const due = schedule.latest(MAX_CATCH_UP, decidedUntil, until);
    const starts = one ? due.slice(0, 1) : due;
    return done(situation, { starts, decidedUntil: starts.at(-1) ?? decidedUntil, backlogUntil: starts.length < due.length ? until : backlogUntil });
  }
  const due = schedule.latest(MAX_CATCH_UP, decidedUntil, now);
  const freshFrom = Math.min(now - LATE_MS, waitingFrom ?? now);
  const fresh = due.filter((tick) => tick >= freshFrom);
  const wanted = fresh.length === 0 && misfire === "once" ? due.slice(-1) : fresh;
  const starts = one ? wanted.slice(-1) : wanted;
  return starts.length === 0 ? passOver(situation, "missed", now) : done(situation, { starts, decidedUntil: due.at(-1) as number, backlogUntil });
}

/** What is due before the first that is started is passed over. */
function done(situation: Situation, step: Pick<Step, "starts" | "decidedUntil" | "backlogUntil">): Step {
  const { passedOver } = passOver(situation, "missed", (step.starts[0] ?? situation.decidedUntil) - 1);
  const reason = passedOver && reasonFor(situation, passedOver.last);
  return { ...step, passedOver: passedOver && reason && { ...passedOver, reason }, waitingFrom: undefined };
}

/** Why ticks up to `last` are passed over for one that is started. */
function reasonFor({ misfire, waitingFrom, now }: Situation, last: number): PassedOver["reason"] {
  if (waitingFrom !== undefined) return "overlap";
  if (misfire === "all") return "capped";
  return misfire === "once" || last >= now - LATE_MS ? "superseded" : "missed";
}

function passOver(situation: Situation, reason: PassedOver["reason"], until: number): Step {
  const { schedule, decidedUntil, backlogUntil } = situation;
  const ticks = schedule.latest(MAX_CATCH_UP, decidedUntil, until);
  const last = ticks.at(-1);
  const passedOver = last === undefined ? undefined : { reason, last, count: ticks.length };
  return { starts: [], passedOver, decidedUntil: last ?? decidedUntil, backlogUntil, waitingFrom: undefined };
}

function withLook({ schedule }: Situation, step: Step): Plan {
  return { ...step, lookAt: schedule.next(step.decidedUntil) };
}
