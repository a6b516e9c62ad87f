import { afterEach, describe, expect, it } from "vitest";
import { manualClock } from "../testing/manual-clock.ts";
import { type Database, openDatabase } from "./driver.ts";
import { LogClock } from "./log-clock.ts";
import { LogTime } from "./log-time.ts";

const START = Date.UTC(2026, 0, 1);
const YEAR = 365 * 24 * 3_600_000;
let database: Database | undefined;
afterEach(() => {
  database?.close();
  database = undefined;
});

describe("the time of a log", () => {
  function open(): LogTime {
    database ??= openDatabase(":memory:");
    return new LogTime(database);
  }
  function commit(time: LogTime, now: number, wall: number): number {
    time.begin({ now, wall }, true);
    time.flush();
    return time.now();
  }

  it("is the time of the batch, is never earlier than the time of the previous write, and continues after a restart", () => {
    const time = open();
    expect([commit(time, 1_000, 1_000), commit(time, 500, 500), commit(time, 5_000, 5_000)]).toEqual([
      1_000, 1_000, 5_000,
    ]);
    const again = open();
    expect(again.stored).toEqual({ now: 5_000, wall: 5_000 });
    expect(commit(again, 10, 10)).toBe(5_000);
  });

  it("is not advanced by reads, which may run at one engine only", () => {
    const time = open();
    commit(time, 1_000, 1_000);
    time.begin({ now: 9_000, wall: 9_000 }, false);
    expect(time.now()).toBe(9_000);
    expect(commit(time, 2_000, 2_000)).toBe(2_000);
  });

  it("is stored once a second, and at once when the wall clock was set or a transaction was rolled back", () => {
    const time = open();
    commit(time, 1_000, 1_000);
    commit(time, 1_999, 1_999);
    expect(time.stored).toEqual({ now: 1_000, wall: 1_000 });
    commit(time, 1_999, 7_000);
    expect(time.stored).toEqual({ now: 1_999, wall: 7_000 });
    time.discard();
    commit(time, 2_000, 7_001);
    expect(open().stored).toEqual({ now: 2_000, wall: 7_001 });
  });
});

describe("the clock of a log", () => {
  it.each([
    ["two hours back", -7_200_000],
    ["a year forward", YEAR],
    ["a year back", -YEAR],
  ])("advances as before when the wall clock is set %s", (_, byMs) => {
    const wall = manualClock(START);
    let jumps = 0;
    const clock = new LogClock(wall, undefined, () => {
      jumps += 1;
    });
    wall.advance(1_000);
    expect(clock.read()).toEqual({ now: START + 1_000, wall: START + 1_000 });
    wall.jumpTo(wall.now() + byMs);
    wall.advance(1_000);
    expect(clock.read()).toEqual({ now: START + 2_000, wall: START + 2_000 + byMs });
    expect([clock.skewMs(), jumps]).toEqual([byMs, 1]);
    wall.jumpTo(START + 2_000);
    expect(clock.read()).toEqual({ now: START + 2_000, wall: START + 2_000 });
  });

  it.each([
    ["counts a stop as time that passed", 0, START + 60_000, START + 60_000],
    ["counts it also after an earlier jump", YEAR, START + YEAR + 60_000, START + 60_000],
    ["counts nothing if the wall clock was set back meanwhile", 0, START - YEAR, START],
    ["keeps a small difference", 0, START - 999, START - 999],
  ])("%s", (_, skew, wallAtStart, now) => {
    const clock = new LogClock(manualClock(wallAtStart), { now: START, wall: START + skew }, () => {});
    expect(clock.read()).toEqual({ now, wall: wallAtStart });
  });
});
