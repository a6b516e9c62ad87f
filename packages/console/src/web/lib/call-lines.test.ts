// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { callLine } from "./call-lines.ts";

it("leaves a gap where the engine did not run, but not where nothing was called", () => {
  const series = [
    {
      labels: { function_id: "a", outcome: "ok" },
      points: [
        [1, null],
        [2, 1],
        [3, null],
      ],
    },
    {
      labels: { function_id: "a", outcome: "error" },
      points: [
        [1, null],
        [2, 1],
        [3, null],
      ],
    },
    {
      labels: { function_id: "engine::info", outcome: "ok" },
      points: [
        [1, null],
        [2, 5],
        [3, 5],
      ],
    },
  ] as const;
  expect(callLine(series, new Set(["a"]))).toEqual({ calls: [null, 120, 0], errors: [null, 50, null] });
});
