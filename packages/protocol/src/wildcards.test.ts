import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileGlob, compileWildcards, fitsInOrder } from "./wildcards.ts";

/** The simple definition: a star is any number of characters. */
function naive(pattern: string, text: string): boolean {
  if (pattern === "") return text === "";
  if (pattern[0] !== "*") return text !== "" && text[0] === pattern[0] && naive(pattern.slice(1), text.slice(1));
  return Array.from({ length: text.length + 1 }, (_, at) => at).some((at) => naive(pattern.slice(1), text.slice(at)));
}

describe("a pattern with *", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", ":", "*"), maxLength: 8 });

  it("matches exactly like its definition", () => {
    fc.assert(
      fc.property(word, word, (pattern, text) => compileGlob(pattern)(text) === naive(pattern, text)),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ["api::*", "api::orders", true],
    ["api::*", "xapi::orders", false],
    ["*::get", "api::get", true],
    ["a*b*c", "a--b--c", true],
    ["ab*ba", "aba", false],
    ["*", "", true],
    ["a.c", "abc", false],
    ["[ab]", "a", false],
  ])("%s and %s: %s", (pattern, text, expected) => {
    expect(compileGlob(pattern)(text)).toBe(expected);
  });

  it("does not backtrack over many stars (K8)", () => {
    const stars = "*a".repeat(120);
    // The second pattern does not fail because of its end alone. A matcher that tries all combinations never ends here,
    // and one with cubic time exceeds the test's time limit.
    for (const matches of [compileGlob(`${stars}*b`), compileGlob(`${stars}*b*`)]) {
      for (let round = 0; round < 1_000; round++) expect(matches("a".repeat(256))).toBe(false);
    }
  });
});

describe("a pattern with * and ?", () => {
  it.each([
    ["*", "", true],
    ["a*c", "abbbc", true],
    ["a*c", "abbb", false],
    ["a?c", "abc", true],
    ["a?c", "ac", false],
    ["*::add", "math::add", true],
    ["a.c", "abc", false],
    ["", "", true],
    ["", "a", false],
  ])("%s and %j: %s", (pattern, text, expected) => {
    expect(compileWildcards(pattern)(text)).toBe(expected);
  });

  it("does not backtrack over many stars", () => {
    // A matcher that tries all combinations never ends here.
    expect(compileWildcards(`${"*a".repeat(200)}b`)("a".repeat(5_000))).toBe(false);
  });
});

describe("a sequence", () => {
  const rule = { any: "**", fits: (wanted: string, item: string) => wanted === item };
  const fits = (pattern: string, path: string, where: "whole" | "beginning"): boolean =>
    fitsInOrder(pattern.split("/"), path.split("/"), { ...rule, where });

  it.each([
    ["src/**/made", "src/made", true, true],
    ["src/**/made", "src/a/b/made", true, true],
    ["src/**/made", "src/made/a/made", true, true],
    ["src/**/made", "src/a/made/b", false, true],
    ["src", "src/a", false, true],
    ["src/a", "src", false, false],
    ["src/**", "src", true, true],
    ["**", "a/b", true, true],
  ])("%s and %s: %s as a whole, %s from its beginning", (pattern, path, whole, beginning) => {
    expect([fits(pattern, path, "whole"), fits(pattern, path, "beginning")]).toEqual([whole, beginning]);
  });
});
