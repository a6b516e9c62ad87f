import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareKeys } from "./key-order.ts";
import { SortedStrings } from "./sorted-strings.ts";

describe("texts in order", () => {
  it("hold what a sorted list holds, whatever is added and removed", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "\u0000", "\uffff", "\u{10000}"), maxLength: 4 });
    fc.assert(
      fc.property(
        fc.uniqueArray(text),
        fc.array(fc.tuple(fc.boolean(), text)),
        text,
        fc.option(text, { nil: undefined }),
        (initial, steps, prefix, after) => {
          const texts = new SortedStrings(initial);
          const model = new Set(initial);
          for (const [adds, step] of steps) {
            if (adds && !model.has(step)) texts.add(step);
            if (!adds && model.has(step)) texts.delete(step);
            if (adds) model.add(step);
            else model.delete(step);
          }
          const begins = [...model].filter((one) => one.startsWith(prefix)).sort(compareKeys);
          expect(texts.size).toBe(model.size);
          expect(texts.count(prefix)).toBe(begins.length);
          expect([...texts.from(prefix, after)]).toEqual(
            begins.filter((one) => after === undefined || compareKeys(one, after) > 0),
          );
        },
      ),
    );
  });

  it("stay in order over many thousands", () => {
    const texts = new SortedStrings([]);
    const keys = Array.from({ length: 20_000 }, (_, index) => `key-${(index * 7_919) % 20_000}`);
    for (const key of keys) texts.add(key);
    for (const key of keys.slice(0, 15_000)) texts.delete(key);
    const left = keys.slice(15_000).sort(compareKeys);
    expect([...texts.from("", undefined)]).toEqual(left);
    expect(texts.count("key-1")).toBe(left.filter((key) => key.startsWith("key-1")).length);
  });
});
