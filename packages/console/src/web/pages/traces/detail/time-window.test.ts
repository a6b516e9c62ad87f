import { expect, it } from "vitest";
import { clamped, moved, ticksOf, zoomed } from "./time-window.ts";

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
