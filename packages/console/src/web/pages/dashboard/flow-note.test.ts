import { expect, it } from "vitest";
import { atLeast, flowNote } from "./flow-note.ts";

const whole = { read: 3, total: 3, isPart: false };
const part = { read: 16, total: 1_023, isPart: true };

it("says of the table's figures that they are of some traces only, where they are", () => {
  expect(flowNote({ isTable: true, seen: part, error: null })).toBe(
    "Calls, and those of them that failed, are counted in 16 of the 1,023 traces of the range only: there were at least (≥) so many.",
  );
  expect(flowNote({ isTable: true, seen: whole, error: null })).toBe("Calls, and those of them that failed, are counted in 3 of the 3 traces of the range.");
  expect(flowNote({ isTable: true, seen: undefined, error: new Error("no engine") })).toBe("Calls are not known: no engine.");
});

it("marks a figure that may be too low", () => {
  expect([atLeast(14, true), atLeast(0, true), atLeast(14, false)]).toEqual(["≥14", "≥0", "14"]);
});

it("tells what the diagram's lines are", () => {
  expect(flowNote({ isTable: false, seen: part, error: null })).toBe(
    "Solid lines are triggers. Dashed ones are calls seen in 16 of the 1,023 traces of the range; red ones had errors.",
  );
  expect(flowNote({ isTable: false, seen: undefined, error: null })).toBe(
    "Solid lines are triggers. Dashed ones are calls seen in traces; red ones had errors.",
  );
  expect(flowNote({ isTable: false, seen: undefined, error: new Error("no engine") })).toContain("which are not known: no engine");
});
