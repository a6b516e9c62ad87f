// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { metricWindow } from "./metric-window.ts";

const NOW = Date.UTC(2026, 10, 27);
const HOUR = 3_600_000;

it("polls once per step, and not at all if the window is in the past", () => {
  expect(metricWindow({ range: "5m" }, NOW)).toEqual({
    ...{ startMs: NOW - HOUR / 12, endMs: NOW - 1, stepSeconds: 10, pollMs: 10_000 },
  });
  expect(metricWindow({ range: "7d" }, NOW)).toMatchObject({ stepSeconds: 3_024, pollMs: 3_024_000 });
  expect(metricWindow({ from: NOW - HOUR }, NOW).pollMs).toBe(18_000);
  expect(metricWindow({ from: NOW - HOUR, to: NOW + HOUR }, NOW).pollMs).toBe(36_000);
  expect(metricWindow({ from: NOW - HOUR, to: NOW - 1 }, NOW).pollMs).toBe(false);
});

it("leaves out the current step until half of it has passed", () => {
  expect(metricWindow({ range: "5m" }, NOW + 4_999).endMs).toBe(NOW - 1);
  expect(metricWindow({ range: "5m" }, NOW + 5_000).endMs).toBeUndefined();
  expect(metricWindow({ from: NOW - HOUR, to: NOW + 3 }, NOW + 1_000).endMs).toBe(NOW + 3);
});
