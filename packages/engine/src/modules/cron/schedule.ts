import { Cron } from "croner";
import { canonicalExpression, READING, refusal } from "./expression.ts";

/** Ticks that are looked at, one after the other, for one that its zone has. */
const MAX_TRIES = 50;
/** A parsed expression takes some 85 KB, so that only those in use of late are kept. */
const MAX_KEPT = 200;
/** Answers that a schedule remembers. */
const MEMORY = 4;
/** Ticks that are found faster one by one than from behind. */
const FEW = 4;
const SECOND_MS = 1_000;

/** Instants are milliseconds since 1970; ticks are whole seconds. */
export interface Schedule {
  /** The first tick after an instant; undefined when there is none any more. */
  next(after: number): number | undefined;
  /** The latest ticks, `count` at most, that are after the one instant and not after the other; in order. */
  latest(count: number, after: number, until: number): readonly number[];
}

/**
 * One expression in one zone. A time that does not exist on the day that clocks are set forward is skipped. On the day that they are set back
 * a time that comes twice has one tick, the first, unless minute or hour run through (`*`, `/`): those go on through the second hour as well.
 */
class ZonedSchedule implements Schedule {
  readonly #cron: Cron;
  readonly #zone: string;
  // Jobs that share a schedule ask the same, one after the other.
  readonly #nexts: { readonly from: number; readonly tick: number | undefined }[] = [];
  readonly #runs: { readonly count: number; readonly before: number; readonly ticks: readonly number[] }[] = [];

  constructor(expression: string, zone: string) {
    this.#cron = new Cron(expression, { ...READING, timezone: zone, paused: true, fixedTimeRule: "no-wildcard" });
    this.#zone = zone;
  }

  next(after: number): number | undefined {
    const from = wholeSecond(after);
    const known = this.#nexts.find((next) => from >= next.from && (next.tick === undefined || from < next.tick));
    if (known !== undefined) return known.tick;
    let date = this.#cron.nextRun(new Date(from));
    for (let tries = 1; date !== null && !this.#exists(date); tries++) date = tries < MAX_TRIES ? this.#cron.nextRun(date) : null;
    const tick = date?.getTime();
    remember(this.#nexts, { from, tick });
    return tick;
  }

  latest(count: number, after: number, until: number): readonly number[] {
    const few: number[] = [];
    for (let tick = this.next(after); few.length < FEW; tick = this.next(tick)) {
      if (tick === undefined || tick > until) return few.slice(-count);
      few.push(tick);
    }
    return this.#previous(count, wholeSecond(until) + SECOND_MS).filter((tick) => tick > after);
  }

  #previous(count: number, before: number): readonly number[] {
    const known = this.#runs.find((runs) => runs.count === count && runs.before === before);
    if (known !== undefined) return known.ticks;
    // One more, since one may be among them that its zone does not have.
    const dates = this.#cron.previousRuns(count + 1, new Date(before)).filter((date) => this.#exists(date));
    const ticks = dates
      .map((date) => date.getTime())
      .reverse()
      .slice(-count);
    remember(this.#runs, { count, before, ticks });
    return ticks;
  }

  /** The library moves a time that does not exist to the end of the gap. */
  #exists(date: Date): boolean {
    return this.#zone === "UTC" || this.#cron.match(date);
  }
}

function wholeSecond(instant: number): number {
  return Math.floor(instant / SECOND_MS) * SECOND_MS;
}

function remember<Entry>(entries: Entry[], entry: Entry): void {
  entries.push(entry);
  if (entries.length > MEMORY) entries.shift();
}

const kept = new Map<string, ZonedSchedule>();

/** By canonical expression and zone. Cheap when it was asked for of late. */
export function scheduleOf(expression: string, zone: string): Schedule {
  const key = `${zone} ${expression}`;
  const found = kept.get(key);
  kept.delete(key);
  const schedule = found ?? new ZonedSchedule(expression, zone);
  kept.set(key, schedule);
  if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value as string);
  return schedule;
}

/** The canonical form of an expression that someone wrote. Throws ExpressionError for one that is not understood, or that no date fits. */
export function checkedExpression(text: string, zone: string, now: number): string {
  const expression = canonicalExpression(text);
  // A year may lie in the past: that is no slip, but a schedule that is through.
  const everyYear = expression.split(" ").slice(0, 6).join(" ");
  if (scheduleOf(everyYear, zone).next(now) === undefined) throw refusal(text, "no date fits it");
  return expression;
}

/** Between two instants; undefined: open. */
export function within(schedule: () => Schedule, startAt: number | undefined, endAt: number | undefined): Schedule {
  const first = startAt === undefined ? Number.NEGATIVE_INFINITY : startAt - 1;
  const last = endAt ?? Number.POSITIVE_INFINITY;
  return {
    next(after) {
      const tick = schedule().next(Math.max(after, first));
      return tick === undefined || tick > last ? undefined : tick;
    },
    latest: (count, after, until) => schedule().latest(count, Math.max(after, first), Math.min(until, last)),
  };
}
