import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isUuid, nameProblem } from "./index.ts";
import { character } from "./testing/arbitraries.ts";

describe("isUuid", () => {
  it("accepts every UUID, in upper and lower case", () => {
    fc.assert(fc.property(fc.uuid(), (id) => isUuid(id) && isUuid(id.toUpperCase())));
  });

  it("agrees with the pattern for similar strings", () => {
    const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
    const nearly = fc
      .tuple(fc.uuid(), fc.nat(36), fc.string({ unit: character, maxLength: 1 }))
      .map(([id, at, piece]) => id.slice(0, at) + piece + id.slice(at + 1));
    fc.assert(
      fc.property(nearly, (text) => {
        expect(isUuid(text)).toBe(pattern.test(text));
      }),
      { numRuns: 500 },
    );
  });
});

describe("a name", () => {
  it.each([
    ["math::add", undefined],
    ["my.service.handler", undefined],
    ["ünïcode 名前", undefined],
    ["é".repeat(128), undefined],
    ["", "empty"],
    ["  ", "empty"],
    ["é".repeat(129), "longer than 256 bytes"],
    ["a\nb", "control character"],
    ["a\u0000", "control character"],
    ["a\u2028b", "control character"],
  ])("%j is judged by length in bytes and by what it holds", (name, problem) => {
    const found = nameProblem(name, "function id");
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });
});
