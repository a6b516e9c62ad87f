import { Cron } from "croner";
import { canonicalExpression, expressionError, PARSER_OPTIONS } from "./expression.ts";

/** The search for a tick ends after this number of consecutive ticks that do not exist in the zone. */
const MAX_TRIES = 50;
/** Maximum cached schedules. A parsed expression takes about 85 KB. */
const MAX_CACHED = 200;
/** Maximum number of results that a schedule caches for each kind of query. */
const MAX_RESULTS = 4;
/** Up to this number of ticks, searching forward from the start is faster than searching back from the end. */
const FEW = 4;
const SECOND_MS = 1_000;

/** Instants are milliseconds since 1970; ticks are whole seconds. */
export interface Schedule {
  /** Returns the first tick after a time, or undefined if there is none. */
  next(after: number): number | undefined;
  /** Returns the latest ticks after `after` and not after `until`, at most `count`, in order. */
  latest(count: number, after: number, until: number): readonly number[];
}

/**
 * An expression in a time zone. A time that does not exist because of daylight saving is skipped. A time that occurs
 * twice has one tick, at its first occurrence. But if the minute or the hour contains `*` or `/`, it also has a tick at
 * its second occurrence.
 */
class ZonedSchedule implements Schedule {
  readonly #cron: Cron;
  readonly #zone: string;
  // Caches of results, because jobs that share a schedule make the same queries one after the other.
  readonly #nexts: { readonly from: number; readonly tick: number | undefined }[] = [];
  readonly #runs: { readonly count: number; readonly before: number; readonly ticks: readonly number[] }[] = [];

  constructor(expression: string, zone: string) {
    this.#cron = new Cron(expression, {
      ...PARSER_OPTIONS,
      timezone: zone,
      paused: true,
      fixedTimeRule: "no-wildcard",
    });
    this.#zone = zone;
  }

  next(after: number): number | undefined {
    const from = wholeSecond(after);
    const known = this.#nexts.find((next) => from >= next.from && (next.tick === undefined || from < next.tick));
    if (known !== undefined) return known.tick;
    let date = this.#cron.nextRun(new Date(from));
    for (let tries = 1; date !== null && !this.#exists(date); tries++)
      date = tries < MAX_TRIES ? this.#cron.nextRun(date) : null;
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
    // Asks for one tick more than needed, because one of the ticks may not exist in the zone.
    const dates = this.#cron.previousRuns(count + 1, new Date(before)).filter((date) => this.#exists(date));
    const ticks = dates
      .map((date) => date.getTime())
      .reverse()
      .slice(-count);
    remember(this.#runs, { count, before, ticks });
    return ticks;
  }

  /** Returns false if the library moved a time that does not exist to the end of the gap. */
  #exists(date: Date): boolean {
    return this.#zone === "UTC" || this.#cron.match(date);
  }
}

function wholeSecond(instant: number): number {
  return Math.floor(instant / SECOND_MS) * SECOND_MS;
}

function remember<Entry>(entries: Entry[], entry: Entry): void {
  entries.push(entry);
  if (entries.length > MAX_RESULTS) entries.shift();
}

const cache = new Map<string, ZonedSchedule>();

/** Returns the schedule of a canonical expression in a zone. Recent schedules are cached. */
export function scheduleOf(expression: string, zone: string): Schedule {
  const key = `${zone} ${expression}`;
  const found = cache.get(key);
  cache.delete(key);
  const schedule = found ?? new ZonedSchedule(expression, zone);
  cache.set(key, schedule);
  if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value as string);
  return schedule;
}

/** Returns the canonical form of a user's expression. Throws ExpressionError if it is invalid or no date matches it. */
export function checkedExpression(text: string, zone: string, now: number): string {
  const expression = canonicalExpression(text);
  // Checked without the year. A schedule whose years are all in the past is valid, but it has ended.
  const everyYear = expression.split(" ").slice(0, 6).join(" ");
  if (scheduleOf(everyYear, zone).next(now) === undefined) throw expressionError(text, "no date matches it");
  return expression;
}

/** Limits a schedule to the ticks between two times, both included. Undefined: no limit. */
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
