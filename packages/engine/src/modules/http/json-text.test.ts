import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findJsonFault, nestsDeeperThan } from "./json-text.ts";

describe("the fault in a text that is not JSON", () => {
  it.each([
    ["", 0],
    ["  ", 2],
    ["{", 1],
    ["{a:1}", 1],
    ['{"a" 1}', 5],
    ['{"a":1,}', 7],
    ["[1 2]", 3],
    ["[1,]", 3],
    ["[}", 1],
    ["01", 1],
    ["1.", 1],
    ["-", 0],
    ["tru", 0],
    ["true false", 5],
    ['"a\nb"', 2],
    ['"a\\x"', 2],
    ['"\\u12g4"', 1],
    ['"open', 5],
    ["{}}", 2],
    ["'a'", 0],
  ])("%j is found at %i", (text, offset) => {
    expect(() => JSON.parse(text) as unknown).toThrow();
    expect(findJsonFault(text).offset).toBe(offset);
  });

  it("is given with line, column and the character", () => {
    expect(findJsonFault('{\n  "a": \u{1F600}\n}')).toEqual({ offset: 9, line: 2, column: 8, found: '"\u{1F600}"' });
    expect(findJsonFault("[")).toMatchObject({ found: "end of the text" });
  });

  it("is a place before which the text could still become JSON, and behind which it cannot", () => {
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom("", "}", "]", ",", ":", '"', "x", "\\", "0", "\n"))
      .map(([text, at, damage]) => text.slice(0, at % (text.length + 1)) + damage + text.slice((at % (text.length + 1)) + 1));
    fc.assert(
      fc.property(damaged, (text) => {
        if (isJson(text)) return;
        const { offset } = findJsonFault(text);
        expect(offset).toBeGreaterThanOrEqual(0);
        expect(offset).toBeLessThanOrEqual(text.length);
        // What stands before the fault has no other fault than that it ends.
        const before = text.slice(0, offset);
        if (!isJson(before)) expect(findJsonFault(before).offset).toBe(before.length);
      }),
      { numRuns: 500 },
    );
  });

  it("is found in long and deep texts without using up the stack", () => {
    expect(findJsonFault("[".repeat(1_000_000)).offset).toBe(1_000_000);
    expect(findJsonFault(`"${"x".repeat(5_000_000)}`).offset).toBe(5_000_001);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("the depth of a JSON text", () => {
  it("counts objects and lists, but not brackets inside strings", () => {
    expect(nestsDeeperThan(`${"[".repeat(3)}${"]".repeat(3)}`, 3)).toBe(false);
    expect(nestsDeeperThan(`${"[".repeat(4)}${"]".repeat(4)}`, 3)).toBe(true);
    expect(nestsDeeperThan('{"a":[{"b":"x"}]}', 2)).toBe(true);
    expect(nestsDeeperThan(JSON.stringify(["[[[[[[[[", '\\"[[[[[[', '\\\\"[']), 1)).toBe(false);
    expect(nestsDeeperThan("[[],[],[],[],[],[]]", 2)).toBe(false);
  });
});
