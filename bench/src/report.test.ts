import { describe, expect, it } from "vitest";
import type { Bar } from "./bars.ts";
import { type Options, parseOptions } from "./options.ts";
import { allBindingHold, type Outcome, resultsDocument } from "./report.ts";

const held: Bar = {
  row: 1,
  what: "a",
  measured: { median: 1, min: 1, max: 1 },
  unit: "x",
  limit: 2,
  sense: "at most",
  standing: "binding",
};
const broken: Bar = { ...held, limit: 0.5 };
const outcome: Outcome = {
  title: "t",
  rows: [1],
  bars: [held],
  measurements: [],
  notes: [],
  compared: [],
  failure: undefined,
};
const binding = new Set([1]);

describe("the report", () => {
  it("is true if every binding bar holds", () => {
    expect(allBindingHold([outcome], binding)).toBe(true);
    expect(allBindingHold([outcome, { ...outcome, bars: [broken] }], binding)).toBe(false);
  });

  it("ignores a quoted bar that misses and a failure in rows without binding bars", () => {
    expect(allBindingHold([{ ...outcome, bars: [{ ...broken, standing: "quoted" }] }], binding)).toBe(true);
    expect(allBindingHold([{ ...outcome, rows: [7], bars: [], failure: "no network" }], binding)).toBe(true);
  });

  it("is false if a scenario did not run", () => {
    expect(allBindingHold([{ ...outcome, bars: [], failure: "the engine ended" }], binding)).toBe(false);
  });

  it("writes verdicts, the machine and the values", () => {
    const document = resultsDocument([outcome], parseOptions(["--rows", "1"]) as Options, new Date(0));
    expect(document).toMatchObject({
      startedAt: "1970-01-01T00:00:00.000Z",
      machine: { node: process.version },
      options: { rows: [1] },
      outcomes: [{ bars: [{ verdict: "pass" }] }],
    });
  });
});
