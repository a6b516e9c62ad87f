import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findJsonProblem } from "./json-position.ts";

describe("findJsonProblem", () => {
  it.each([
    ["", 0, "a JSON value"],
    ["{a: 1}", 1, 'a key in double quotes, or "}"'],
    ["{'a': 1}", 1, 'a key in double quotes, or "}"'],
    ['{"a" 1}', 5, '":" after the key'],
    ['{"a": }', 6, "a JSON value"],
    ['{"a": 1', 7, '"," or "}"'],
    ['{"a": 1,}', 8, "a key in double quotes"],
    ["[1 2]", 3, '"," or "]"'],
    ['{"a": 1} x', 9, "nothing more"],
    ['"open', 0, "a string that is closed and well escaped"],
    ["tru", 0, "a JSON value"],
    ["01", 1, "nothing more"],
  ])("says where %j stops being JSON", (text, position, expected) => {
    expect(findJsonProblem(text)).toEqual({ position, expected });
  });

  it("survives nesting that would break a recursive reader", () => {
    expect(findJsonProblem("[".repeat(200_000))).toMatchObject({ position: 200_000 });
  });

  it("finds nothing wrong with any JSON", () => {
    fc.assert(fc.property(fc.json(), (text) => findJsonProblem(text) === undefined));
  });

  it("agrees with JSON.parse on damaged JSON", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.constantFrom("", "x", "}", ",", '"', "\u0001", "0"), (text, at, noise) => {
        const cut = at % (text.length + 1);
        const damaged = text.slice(0, cut) + noise + text.slice(cut + 1);
        expect(findJsonProblem(damaged) === undefined).toBe(parses(damaged));
      }),
    );
  });
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
