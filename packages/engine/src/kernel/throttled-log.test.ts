import { expect, it } from "vitest";
import { manualClock } from "../testing/index.ts";
import { createLogger, type LogRecord } from "./logger.ts";
import { ThrottledLog } from "./throttled-log.ts";

function throttledLog() {
  const clock = manualClock();
  const lines: (readonly [message: string, fields: LogRecord["fields"]])[] = [];
  const log = createLogger({
    level: "warn",
    now: () => clock.now(),
    write: ({ message, fields }) => lines.push([message, fields]),
  });
  const sparse = new ThrottledLog(clock);
  return {
    clock,
    lines,
    warn: (source: string, at: number) => sparse.warn(log, source, "refused", { at }),
    timers: () => clock.pendingTimers,
  };
}

it("writes ten lines at once, then one a second that says how many were left out, and nothing once it is quiet", () => {
  const { clock, lines, warn, timers } = throttledLog();
  for (let at = 1; at <= 500; at++) warn("a", at);
  expect(lines).toEqual(Array.from({ length: 10 }, (_, index) => ["refused", { at: index + 1 }]));
  clock.advance(1_000);
  expect(lines.slice(10)).toEqual([["refused", { at: 500, suppressed: 489 }]]);
  warn("a", 501);
  clock.advance(1_000);
  expect(lines.slice(11)).toEqual([["refused", { at: 501, suppressed: 0 }]]);
  clock.advance(1_000);
  expect(lines).toHaveLength(12);
  expect(timers()).toBe(0);
});

it("keeps the lines of one source apart from those of others, and follows a bounded number of sources", () => {
  const { lines, warn, timers } = throttledLog();
  warn("a", 1);
  warn("b", 2);
  expect(lines).toHaveLength(2);
  for (let source = 0; source < 5_000; source++) warn(`source ${source}`, source);
  expect(timers()).toBeLessThanOrEqual(1_001);
  expect(lines.length).toBeLessThanOrEqual(1_010);
});
