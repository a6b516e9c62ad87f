import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durationMs, millisOf } from "../telemetry-records.ts";
import { attributeOf } from "./attributes.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { filterSchema } from "./filter-input.ts";
import { compileFilter } from "./filters.ts";
import { WordSearch } from "./word-search.ts";

describe("an attribute", () => {
  it("is found by the published name and by ours, and never in a prototype", () => {
    expect(attributeOf({ "svc.function_id": "math::add" }, "function_id")).toBe("math::add");
    expect(attributeOf({ function_id: "math::add" }, "svc.function_id")).toBe("math::add");
    expect(attributeOf({ "svc.worker.id": "w" }, "worker_id")).toBe("w");
    expect(attributeOf({}, "constructor")).toBeUndefined();
  });
});

describe("a filter", () => {
  const judge = (
    op: string,
    wanted: string | number | boolean | undefined,
    value: string | number | boolean | undefined,
  ): boolean => {
    const filter = compileFilter(
      filterSchema.parse({ key: "k", op, ...(wanted === undefined ? {} : { value: wanted }) }),
    );
    return filter.matches(value) !== filter.negated;
  };

  it.each([
    ["equals", "200", 200, true],
    ["equals", true, "true", true],
    ["equals", "a", "A", false],
    ["not_equals", "a", "b", true],
    ["not_equals", "a", undefined, true],
    ["contains", "ORD", "an order", true],
    ["not_contains", "ord", "an order", false],
    ["gt", 5, "6", true],
    ["gt", "5", 5, false],
    ["gte", 5, 5, true],
    ["lt", 5, "", false],
    ["lte", 5, "abc", false],
    ["gt", "abc", 6, false],
    ["exists", undefined, "", true],
    ["not_exists", undefined, undefined, true],
  ])("%s %j judges %j as %j", (op, wanted, value, expected) => {
    expect(judge(op, wanted, value)).toBe(expected);
  });

  it("is refused without the value that its operator needs", () => {
    expect(filterSchema.safeParse({ key: "k", op: "gt" }).success).toBe(false);
    expect(filterSchema.safeParse({ key: "k" }).success).toBe(false);
  });
});

describe("a text search", () => {
  it("finds words by their beginnings, in any order, without case, over all texts of one record", () => {
    const search = new WordSearch("Math::ADD fail");
    expect(search.matches(["failed in math", "and then add_two"])).toBe(true);
    expect(search.matches(["math::add"])).toBe(false);
  });

  it("finds words of one or two letters only as whole words", () => {
    expect(new WordSearch("a").matches(["add"])).toBe(false);
    expect(new WordSearch("a").matches(["is a word"])).toBe(true);
  });

  it("with no word in it finds everything", () => {
    expect(new WordSearch(" :: ").matches(["x"])).toBe(true);
  });
});

describe("a cursor", () => {
  const parts = z.tuple([z.number(), z.string()]);

  it("comes back as it was", () => {
    expect(readCursor("traces", writeCursor("traces", [1.5, "ä"]), parts)).toEqual([1.5, "ä"]);
  });

  it.each([
    writeCursor("logs", [1, "a"]),
    writeCursor("traces", ["a", 1]),
    "bm8",
    "%%%",
    Buffer.from("[1").toString("base64url"),
  ])("refuses %j", (cursor) => {
    expect(() => readCursor("traces", cursor, parts)).toThrow(expect.objectContaining({ code: "invalid_input" }));
  });
});

describe("a time in nanoseconds", () => {
  it("becomes milliseconds with their fraction, at any size", () => {
    expect(millisOf(1_700_000_000_123_455_000n)).toBe(1_700_000_000_123.455);
    expect(durationMs(1_700_000_000_000_000_000n, 1_700_000_000_000_455_000n)).toBe(0.455);
    expect(durationMs(-62_135_596_800_000_000_000n, 9_223_372_036_854_775_807n)).toBeCloseTo(71_358_968_836_854.77, 1);
  });
});
