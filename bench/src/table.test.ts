import { describe, expect, it } from "vitest";
import { type Bar, verdictOf } from "./bars.ts";
import { formatNumber, renderBars, renderMeasurements } from "./table.ts";

const bar: Bar = {
  row: 1,
  what: "engine CPU per call",
  measured: { median: 0.423, min: 0.4, max: 0.5 },
  unit: "x",
  limit: 0.6,
  sense: "at most",
  standing: "binding",
};

describe("bars", () => {
  it("pass at the limit and fail beyond it, in both directions", () => {
    expect(verdictOf({ ...bar, limit: 0.423 })).toBe("pass");
    expect(verdictOf({ ...bar, limit: 0.422 })).toBe("FAIL");
    expect(verdictOf({ ...bar, limit: 0.423, sense: "at least" })).toBe("pass");
    expect(verdictOf({ ...bar, limit: 0.424, sense: "at least" })).toBe("FAIL");
  });

  it("only hold or miss if they are quoted", () => {
    expect(verdictOf({ ...bar, standing: "quoted" })).toBe("holds");
    expect(verdictOf({ ...bar, standing: "quoted", limit: 0.1 })).toBe("misses");
  });

  it("print as one aligned line each", () => {
    const idle: Bar = {
      ...bar,
      row: 11,
      what: "idle",
      unit: "MB",
      limit: 75,
      standing: "quoted",
      measured: { median: 100.4, min: 99, max: 1234.5 },
    };
    expect(renderBars([bar, idle]).split("\n")).toEqual([
      "row  bar                  measured    min-max     limit  verdict",
      "---  -------------------  --------  ---------  --------  --------------",
      "1    engine CPU per call   0.423 x  [0.4-0.5]  <= 0.6 x  pass",
      "11   idle                   100 MB  [99-1235]  <= 75 MB  quoted: misses",
    ]);
  });
});

describe("numbers", () => {
  it("keep three significant digits and no exponent", () => {
    expect([0.12345, 1.2345, 12.345, 123.45, 1234.5, 23_456.7].map(formatNumber)).toEqual([
      "0.123",
      "1.23",
      "12.3",
      "123",
      "1235",
      "23457",
    ]);
  });
});

describe("measurements", () => {
  it("show CPU per operation, rate and latencies over all windows", () => {
    const window = {
      operations: 1000,
      elapsedMs: 500,
      p50Us: 100,
      p99Us: 900,
      cpuUs: [20_000, 10_000],
      ownCpuUs: 5000,
      peakResidentBytes: 64 * 1024 * 1024,
    };
    const text = renderMeasurements([{ variant: "ours", windows: [window, { ...window, operations: 2000 }, window] }]);
    expect(text.split("\n")[2]).toBe(
      "ours     30 [15-30]  2000 [2000-4000]  100 [100-100]  900 [900-900]      64           5",
    );
  });
});
