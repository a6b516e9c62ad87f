import { expect, it } from "vitest";
import { moduleIds } from "../../lib/own-functions.ts";
import type { FunctionFigures } from "../../lib/use-function-figures.ts";
import { ownFigures, ownIds } from "./own-calls.ts";

it("separates workers' functions from the engine's", () => {
  const workers = [
    { id: "m", kind: "module" },
    { id: "w", kind: "worker" },
  ] as const;
  const functions = [
    { function_id: "state::get", internal: false, workers: [{ id: "m" }] },
    { function_id: "orders::create", internal: false, workers: [{ id: "w" }] },
    { function_id: "secret", internal: true, workers: [{ id: "w" }] },
  ];
  expect([...ownIds(functions, moduleIds(workers))]).toEqual(["orders::create"]);
});

it("sums calls and returns the slowest function", () => {
  const figures = [
    { function_id: "a", calls: 3, errors: 1, p95_ms: 5 },
    { function_id: "b", calls: 1, errors: 0, p95_ms: 9 },
    { function_id: "c", calls: 0, errors: 0, p95_ms: null },
  ] as FunctionFigures[];
  expect(ownFigures(figures)).toMatchObject({ calls: 4, errors: 1, errorRate: 0.25, slowest: { function_id: "b" } });
  expect(ownFigures([])).toEqual({ calls: 0, errors: 0, errorRate: 0, slowest: undefined });
});
