import { expect, it } from "vitest";
import { scheduleOf } from "../schedule.ts";
import { unhandledTicks } from "../unhandled-ticks.ts";
import { endRange, firstHandled, type HandledTicks, type TickRange } from "./handled-ticks.ts";

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const at = (minute: number): number => START + minute * MINUTE;
const minutes = (instants: readonly number[]): number[] => instants.map((instant) => (instant - START) / MINUTE);
const range = (from: number, to: number): TickRange => [at(from), at(to)];

it("ends a range, and joins ranges that overlap", () => {
  const once = endRange({ since: 10, ranges: [] }, 20, 31);
  expect(once).toEqual({ since: 31, ranges: [[10, 20]] });
  expect(endRange(once, 40, 15)).toEqual({
    since: 15,
    ranges: [
      [10, 20],
      [31, 40],
    ],
  });
  expect(endRange({ ...once, since: 5 }, 12, 50)).toEqual({ since: 50, ranges: [[5, 20]] });
  expect(endRange({ ...once, since: 21 }, 30, 50).ranges).toEqual([[10, 30]]);
});

it("ends no range in which nothing was decided on", () => {
  expect(endRange({ since: 10, ranges: [] }, 9, 31)).toEqual({ since: 31, ranges: [] });
});

it("remembers 16 ranges; beyond, the two earliest become one, so that no handled tick is forgotten", () => {
  let handled: HandledTicks = { since: 0, ranges: [] };
  for (let index = 0; index < 40; index++) handled = endRange(handled, index * 10 + 5, (index + 1) * 10);
  expect(handled.ranges).toHaveLength(16);
  expect(handled.ranges[0]).toEqual([0, 245]);
  expect(handled.ranges.at(-1)).toEqual([390, 395]);
  expect(firstHandled(handled)).toBe(0);
});

it("leaves handled ticks out of a schedule, forwards and backwards", () => {
  const schedule = unhandledTicks(scheduleOf("0 * * * * *", "UTC"), [range(3, 5), range(8, 8), range(20, 30)]);
  const next: number[] = [];
  for (let tick = schedule.next(at(0)); tick !== undefined && next.length < 6; tick = schedule.next(tick))
    next.push(tick);
  expect(minutes(next)).toEqual([1, 2, 6, 7, 9, 10]);
  expect(minutes(schedule.latest(100, at(0), at(10)))).toEqual([1, 2, 6, 7, 9, 10]);
  expect(minutes(schedule.latest(3, at(0), at(10)))).toEqual([7, 9, 10]);
  expect(minutes(schedule.latest(100, at(3), at(8)))).toEqual([6, 7]);
  expect(minutes(schedule.latest(2, at(0), at(25)))).toEqual([18, 19]);
  expect(schedule.latest(100, at(21), at(29))).toEqual([]);
  expect(minutes(schedule.latest(2, at(40), at(50)))).toEqual([49, 50]);
});
