import { expect, it } from "vitest";
import { atLeast } from "../../lib/at-least.ts";
import { flowNote } from "./flow-note.ts";

const whole = { read: 3, total: 3, isPart: false };
const part = { read: 16, total: 1_023, isPart: true };

it("says for the table if its figures cover only some traces", () => {
  expect(flowNote({ isTable: true, seen: part, error: null })).toBe(
    "Calls and failures are counted in only 16 of the 1,023 traces of the range, so the numbers are lower bounds (≥).",
  );
  expect(flowNote({ isTable: true, seen: whole, error: null })).toBe(
    "Calls and failures are counted in 3 of the 3 traces of the range.",
  );
  expect(flowNote({ isTable: true, seen: undefined, error: new Error("no engine") })).toBe(
    "Failed to load calls: no engine.",
  );
});

it("marks a number that is a lower bound", () => {
  expect([atLeast(14, true), atLeast(0, true), atLeast(14, false)]).toEqual(["≥14", "≥0", "14"]);
});

it("explains the lines of the diagram", () => {
  expect(flowNote({ isTable: false, seen: part, error: null })).toBe(
    "Solid lines are triggers. Dashed lines are calls seen in 16 of the 1,023 traces of the range; red lines had errors.",
  );
  expect(flowNote({ isTable: false, seen: undefined, error: null })).toBe(
    "Solid lines are triggers. Dashed lines are calls seen in traces; red lines had errors.",
  );
  expect(flowNote({ isTable: false, seen: undefined, error: new Error("no engine") })).toContain(
    "Failed to load calls: no engine.",
  );
});
