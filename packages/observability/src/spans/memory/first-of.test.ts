import fc from "fast-check";
import { expect, it } from "vitest";
import { FirstOf } from "./first-of.ts";

it("finds the items that sorting all would put first", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 50 })), fc.integer({ min: 1, max: 20 }), (all, count) => {
      const first = new FirstOf<number>(count, (a, b) => a - b);
      for (const each of all) first.add(each);
      expect(first.sorted()).toEqual(all.toSorted((a, b) => a - b).slice(0, count));
    }),
  );
});
