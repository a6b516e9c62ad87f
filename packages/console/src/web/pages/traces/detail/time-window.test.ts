import { expect, it } from "vitest";
import { clamped, labelledTicks, moved, ticksOf, zoomed } from "./time-window.ts";

it("zooms around the middle and never leaves the trace", () => {
  expect(zoomed({ fromMs: 0, toMs: 100 }, 0.5, 100)).toEqual({ fromMs: 25, toMs: 75 });
  expect(zoomed({ fromMs: 25, toMs: 75 }, 4, 100)).toEqual({ fromMs: 0, toMs: 100 });
  expect(moved({ fromMs: 50, toMs: 100 }, 1, 100)).toEqual({ fromMs: 50, toMs: 100 });
  expect(clamped({ fromMs: 80, toMs: 20 }, 100)).toEqual({ fromMs: 20, toMs: 80 });
});

it("divides the axis at round times", () => {
  expect(ticksOf({ fromMs: 0, toMs: 100 }, 5)).toEqual([0, 20, 40, 60, 80, 100]);
  expect(ticksOf({ fromMs: 0, toMs: 0 }, 5)).toEqual([0]);
});

it("labels ticks where the labels fit, and never lets two overlap", () => {
  const view = { fromMs: 0, toMs: 691 };
  const sides = (ticks: readonly number[], width: number) =>
    labelledTicks(ticks, view, width, (ms) => `${ms} ms`).map(({ side }) => side);
  expect(sides([0, 200, 400, 600], 800)).toEqual(["right", "right", "right", "right"]);
  // The last label does not fit to the right of its tick.
  expect(sides([0, 690], 800)).toEqual(["right", "left"]);
  expect(sides([0, 500], 130)).toEqual(["right", "left"]);
  expect(sides([0, 200, 400, 600], 107)).toEqual(["right", undefined, undefined, "left"]);
});
