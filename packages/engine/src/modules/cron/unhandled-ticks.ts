import type { Schedule } from "./schedule.ts";
import { rangeWith, type TickRange } from "./store/handled-ticks.ts";

/** Returns the schedule without the ticks in `ranges`, which are in order and disjoint. */
export function unhandledTicks(schedule: Schedule, ranges: readonly TickRange[]): Schedule {
  if (ranges.length === 0) return schedule;
  return {
    next(after) {
      let tick = schedule.next(after);
      while (tick !== undefined) {
        const range = rangeWith(ranges, tick);
        if (range === undefined) break;
        tick = schedule.next(range[1]);
      }
      return tick;
    },
    latest(count, after, until) {
      let found: readonly number[] = [];
      let last = until;
      for (const [from, to] of [...ranges].reverse()) {
        if (found.length >= count || last <= after) return found;
        if (from > last) continue;
        if (to < last) found = [...schedule.latest(count - found.length, Math.max(after, to), last), ...found];
        last = Math.min(last, from - 1);
      }
      return found.length >= count || last <= after
        ? found
        : [...schedule.latest(count - found.length, after, last), ...found];
    },
  };
}
