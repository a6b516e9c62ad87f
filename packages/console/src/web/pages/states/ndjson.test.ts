import { describe, expect, it } from "vitest";
import { readEntryOrNull } from "./model.ts";
import { batches, type Line, lineOf, maskedLineOf, planLine, readLines } from "./ndjson.ts";

const entry = (json: string, version = 3) =>
  readEntryOrNull(`{"key":"k","value":${json},"version":${version},"updated_at":"2026-11-22T00:00:00.000Z","bytes":1}`);

describe("an NDJSON file", () => {
  it("reads back what was written, with all digits of numbers", () => {
    const stored = entry('{"n":9007199254740993}');
    expect(stored).not.toBeNull();
    const text = stored === null ? "" : lineOf("a/b", stored);
    expect(readLines(`${text}\n\n`)).toEqual({
      lines: [{ number: 1, scope: "a/b", key: "k", json: '{"n":9007199254740993}', expiresAtMs: undefined }],
      bad: [],
    });
  });

  it("reports each invalid line", () => {
    const { lines, bad } = readLines(
      '{"scope":"a","key":"k","value":null}\n{"scope":"a"\n{"scope":"a","key":"","value":1}\n{"scope":"a","key":"x"}\n{"scope":1,"key":"x","value":1}',
    );
    expect(lines).toHaveLength(1);
    expect(bad.map(({ number }) => number)).toEqual([2, 3, 4, 5]);
  });

  it("masks secrets, and rejects a masked line on import", () => {
    const stored = entry('{"n":1.50,"password":"s3cret"}');
    const text = stored === null ? "" : maskedLineOf("a", stored);
    expect(text).toContain('"value":{"n":1.50,"password":"***"},"version":3');
    expect(text).not.toContain("\n");
    expect(readLines(text)).toEqual({ lines: [], bad: [{ number: 1, problem: expect.stringContaining("secret") }] });
    const named = stored === null ? "" : maskedLineOf("a", { ...stored, key: "api_key", json: '"s3cret"' });
    expect(named).toContain('"value":"***"');
  });

  it("keeps the later of two lines for the same item", () => {
    const { lines } = readLines('{"scope":"a","key":"k","value":1}\n{"scope":"a","key":"k","value":2}');
    expect(lines.map(({ json }) => json)).toEqual(["2"]);
  });
});

describe("the dry run", () => {
  const line = (json: string, expiresAtMs?: number): Line => ({ number: 1, scope: "a", key: "k", json, expiresAtMs });
  it.each([
    ["new", line("1"), null, 0],
    ["same", line('{ "a": 1 }'), entry('{"a":1}'), 3],
    ["changed", line("9007199254740993"), entry("9007199254740992"), 3],
    ["changed", line("null"), entry('""'), 3],
    ["expired", line("1", 999), null, 0],
  ] as const)("reports %s", (effect, planned, stored, version) => {
    expect(planLine(planned, stored, 1_000)).toMatchObject({ effect, version });
  });
});

it("splits batches by number and by size", () => {
  expect(batches(["aa", "b", "ccc", "d"], 10, 3, ({ length }) => length)).toEqual([["aa", "b"], ["ccc"], ["d"]]);
  expect(batches([1, 2, 3], 2, 100, () => 1)).toEqual([[1, 2], [3]]);
  expect(batches(["toolong"], 2, 3, ({ length }) => length)).toEqual([["toolong"]]);
});
