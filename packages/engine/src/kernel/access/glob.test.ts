import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileGlob, patternOfMatch } from "./glob.ts";

/** The plain definition: a star is any number of characters. */
function naive(pattern: string, text: string): boolean {
  if (pattern === "") return text === "";
  if (pattern[0] !== "*") return text !== "" && text[0] === pattern[0] && naive(pattern.slice(1), text.slice(1));
  return Array.from({ length: text.length + 1 }, (_, at) => at).some((at) => naive(pattern.slice(1), text.slice(at)));
}

describe("a pattern", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", ":", "*"), maxLength: 8 });

  it("matches exactly what its definition says", () => {
    fc.assert(
      fc.property(word, word, (pattern, text) => compileGlob(pattern)(text) === naive(pattern, text)),
      { numRuns: 5_000 },
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

  it("takes no time over texts that make others try everything (K8)", () => {
    const matches = compileGlob(`${"*a".repeat(120)}*b`);
    const started = performance.now();
    for (let round = 0; round < 1_000; round++) matches("a".repeat(256));
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

describe("match(…)", () => {
  it.each([
    ['match("api::*")', "api::*"],
    ["match('x')", "x"],
    ["match(\"x')", undefined],
    ["api::*", undefined],
    ['match("x") ', "x"],
    ['match("a"b")', undefined],
  ])("%s holds the pattern %s", (text, pattern) => {
    expect(patternOfMatch(text)).toBe(pattern);
  });
});
