import { expect, it } from "vitest";
import { type MergedLine, MergedLines } from "./merged-lines.ts";

/** Lines on a clock that the test moves. */
function setUp() {
  let nowMs = 1_000;
  let timer: { readonly atMs: number; readonly listener: () => void } | undefined;
  const written: string[] = [];
  const lines = new MergedLines({
    now: () => nowMs,
    after(ms, listener) {
      timer = { atMs: nowMs + ms, listener };
      return () => {
        timer = undefined;
      };
    },
  });
  return {
    written,
    lines,
    add: (text: string, timeMs: number, more: Partial<MergedLine> = {}) =>
      lines.add({ source: "a", timeMs, write: () => written.push(text), ...more }),
    setBack(ms: number) {
      nowMs -= ms;
      if (timer !== undefined) timer = { ...timer, atMs: timer.atMs - ms };
    },
    advance(ms: number) {
      nowMs += ms;
      while (timer !== undefined && timer.atMs <= nowMs) {
        const { listener } = timer;
        timer = undefined;
        listener();
      }
    },
  };
}

it("writes lines of several sources in the order of their times", () => {
  const { add, advance, written } = setUp();
  add("a 1000", 1_000);
  add("b 990", 990, { source: "b" });
  advance(100);
  add("c 995", 995, { source: "c" });
  add("a 1100", 1_100);
  expect(written).toEqual([]);
  advance(150);
  expect(written).toEqual(["b 990", "c 995", "a 1000"]);
  advance(100);
  expect(written).toEqual(["b 990", "c 995", "a 1000", "a 1100"]);
});

it("keeps the order of one source, whatever its times, and does not hold up lines of the future", () => {
  const { add, advance, written } = setUp();
  add("later", 900);
  add("earlier", 800);
  add("future", 90_000, { source: "b" });
  advance(250);
  expect(written).toEqual(["later", "earlier", "future"]);
});

it("does not hold up lines when the clock is set back, and keeps the order of one source", () => {
  const { add, advance, setBack, written } = setUp();
  advance(600_000);
  add("before", 601_000);
  setBack(600_000);
  advance(10);
  add("after", 1_010);
  add("other", 1_005, { source: "b" });
  advance(250);
  expect(written).toEqual(["other", "before", "after"]);
});

it("writes an entry that comes twice once, the preferred line if it comes in time", () => {
  const { add, advance, lines, written } = setUp();
  add("copy of 1", 1_000, { id: "1", isCopy: true, source: "b" });
  add("line 1", 1_001, { id: "1" });
  add("line 2", 1_002, { id: "2" });
  add("copy of 2", 1_002, { id: "2", isCopy: true, source: "b" });
  add("copy of 3", 1_003, { id: "3", isCopy: true, source: "b" });
  advance(300);
  add("line 3", 1_003, { id: "3" });
  add("copy of 4", 1_300, { id: "4", isCopy: true, source: "b" });
  lines.flush();
  expect(written).toEqual(["line 1", "line 2", "copy of 3", "copy of 4"]);
});

it("writes the earliest lines if too many wait", () => {
  const { add, written } = setUp();
  for (let index = 0; index <= 2_000; index++) add(String(index), index);
  expect(written).toHaveLength(1_000);
  expect(written[0]).toBe("0");
});
