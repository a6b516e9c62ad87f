import { describe, expect, it } from "vitest";
import { patternOfMatch } from "./name-list.ts";

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
