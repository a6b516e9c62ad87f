import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  closingQuote,
  elementTexts,
  endOfToken,
  endOfValue,
  findJsonFault,
  jsonEscape,
  memberTexts,
  nestsDeeperThan,
  skipSpace,
} from "./json-text.ts";
import { character } from "./testing/arbitraries.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const space = fc.string({ unit: fc.constantFrom(" ", "\t", "\n", "\r"), maxLength: 2 });
const name = fc.oneof(
  fc.constantFrom("", "a", "__proto__", '"', "\\", "]}", "\u{1F600}"),
  fc.string({ unit: character, maxLength: 4 }),
);
/** A string as another program may write it: every unit escaped, or only those that must be. */
const stringText = fc
  .tuple(name, fc.boolean())
  .map(([value, isEscaped]) => (isEscaped ? `"${jsonEscape(value)}"` : JSON.stringify(value)));
const number = fc.constantFrom("0", "-0", "9007199254740993", "1e400", "0.10", "-1.5E+3");

/** JSON text with the parts from which it was built. */
interface Built {
  readonly text: string;
  readonly tokens: readonly string[];
  readonly depth: number;
  readonly members?: readonly (readonly [name: string, text: string])[];
  readonly elements?: readonly string[];
}

const { built } = fc.letrec<{ built: Built; scalar: Built; list: Built; map: Built }>((tie) => ({
  built: fc.oneof({ depthSize: "small", withCrossShrink: true }, tie("scalar"), tie("list"), tie("map")),
  scalar: fc
    .oneof(stringText, number, fc.constantFrom("true", "false", "null"))
    .map((text) => ({ text, tokens: [text], depth: 0 })),
  list: fc.tuple(space, fc.array(fc.tuple(space, tie("built"), space), { maxLength: 4 })).map(([inside, parts]) => ({
    text:
      parts.length === 0
        ? `[${inside}]`
        : `[${parts.map(([before, { text }, after]) => before + text + after).join(",")}]`,
    tokens: ["[", ...parts.flatMap(([, { tokens }], index) => (index === 0 ? tokens : [",", ...tokens])), "]"],
    depth: 1 + Math.max(0, ...parts.map(([, { depth }]) => depth)),
    elements: parts.map(([, { text }]) => text),
  })),
  map: fc
    .tuple(space, fc.array(fc.tuple(space, stringText, space, space, tie("built"), space), { maxLength: 4 }))
    .map(([inside, parts]) => ({
      text:
        parts.length === 0
          ? `{${inside}}`
          : `{${parts.map(([a, key, b, c, { text }, d]) => `${a}${key}${b}:${c}${text}${d}`).join(",")}}`,
      tokens: [
        "{",
        ...parts.flatMap(([, key, , , { tokens }], index) => [...(index === 0 ? [] : [","]), key, ":", ...tokens]),
        "}",
      ],
      depth: 1 + Math.max(0, ...parts.map(([, , , , { depth }]) => depth)),
      members: parts.map(([, key, , , { text }]) => [JSON.parse(key) as string, text] as const),
    })),
}));
const whole: fc.Arbitrary<Built> = fc
  .tuple(space, built, space)
  .map(([before, value, after]) => ({ ...value, text: before + value.text + after }));

/** A text with one position changed, truncated or repeated. Often no longer JSON. */
const damaged = fc
  .tuple(
    whole,
    fc.nat(),
    fc.nat({ max: 3 }),
    fc.constantFrom(
      "",
      "}",
      "]",
      ",",
      ":",
      '"',
      "x",
      "\\",
      "0",
      "\n",
      "\u0001",
      "-",
      ".",
      "e",
      "\u00a0",
      "\ufeff",
      "[",
      "{",
      "null",
    ),
  )
  .map(([{ text }, place, removed, damage]) => {
    const at = place % (text.length + 1);
    return text.slice(0, at) + damage + text.slice(at + removed);
  });

describe("the parts of a JSON text", () => {
  it("are the members and elements that JSON.parse reads, with their text", () => {
    fc.assert(
      fc.property(whole, ({ text, members, elements }) => {
        if (members === undefined) expect(() => memberTexts(text)).toThrow(SyntaxError);
        else expect(memberTexts(text)).toEqual(new Map(members));
        if (elements === undefined) expect(() => elementTexts(text)).toThrow(SyntaxError);
        else expect(elementTexts(text)).toEqual(elements);

        const value: unknown = JSON.parse(text);
        if (members !== undefined) {
          const parsed = [...memberTexts(text)].map(([key, json]) => [key, JSON.parse(json) as unknown]);
          expect(Object.fromEntries(parsed)).toEqual(value);
        }
        if (elements !== undefined)
          expect(elementTexts(text).map((json) => JSON.parse(json) as unknown)).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it("are never returned for a text that ends too early", () => {
    fc.assert(
      fc.property(whole, fc.nat(), ({ text }, place) => {
        const cut = text.trim().slice(0, place % text.trim().length);
        expect(() => memberTexts(cut)).toThrow(SyntaxError);
        expect(() => elementTexts(cut)).toThrow(SyntaxError);
      }),
    );
  });

  it("are the tokens", () => {
    fc.assert(
      fc.property(whole, ({ text, tokens }) => {
        const found: string[] = [];
        for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
          const end = endOfToken(text, at);
          found.push(text.slice(at, end));
          at = end;
        }
        expect(found).toEqual(tokens);
      }),
    );
  });

  it("are tokens of at least one character in any text, up to its end", () => {
    fc.assert(
      fc.property(fc.oneof(damaged, fc.string()), (text) => {
        for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
          const end = endOfToken(text, at);
          expect(end).toBeGreaterThan(at);
          expect(end).toBeLessThanOrEqual(text.length);
          at = end;
        }
      }),
    );
  });

  it.each([
    ['{"result":9007199254740993}', "9007199254740993"],
    ['{"type":"x", "result" : {"a":[1e400, {}], "b":"}"} ,"z":1}', '{"a":[1e400, {}], "b":"}"}'],
    ['{"data":{"result":1},"list":["result",{"result":2}],"result":"\\"result\\":3"}', '"\\"result\\":3"'],
    ['{"result":1,"other":"result","result":[2]}', "[2]"],
    [String.raw`{"res\u0075lt":"\\"}`, String.raw`"\\"`],
    ['{"result":null}', "null"],
    ['{"type":"result","error":{"result":1}}', undefined],
    ["{}", undefined],
  ])("has the member `result` of %s", (object, text) => {
    expect(memberTexts(object).get("result")).toBe(text);
  });

  it("keeps every digit of an object's members", () => {
    const members = memberTexts(' { "a" : 9007199254740993 , "b":{"c":[1,"]}",{"d":"\\"}"}]}, "\\u0061b": "x,y" } ');
    expect([...members]).toEqual([
      ["a", "9007199254740993"],
      ["b", '{"c":[1,"]}",{"d":"\\"}"}]}'],
      ["ab", '"x,y"'],
    ]);
    expect([...memberTexts("{}")]).toEqual([]);
    expect(memberTexts('{"__proto__":1}').get("__proto__")).toBe("1");
  });

  it("keeps the elements of an array", () => {
    expect(elementTexts('[1.10, {"a":[1,2]}, "]", []]')).toEqual(["1.10", '{"a":[1,2]}', '"]"', "[]"]);
    expect(elementTexts("[ ]")).toEqual([]);
  });

  it.each(["", "1", "[1", '{"a"', '{"a" 1}', '{"a":"x}', "{1:2}", '{"a":}', '["a"]'])(
    "rejects %j as an object",
    (text) => {
      expect(() => memberTexts(text)).toThrow(SyntaxError);
    },
  );

  it.each(["", "1", "[1", '["a', "[1 2]", '{"a":1}'])("rejects %j as an array", (text) => {
    expect(() => elementTexts(text)).toThrow(SyntaxError);
  });

  it("finds the end of a value before any other text, but not of one that nests too deep or does not end", () => {
    expect(endOfValue('{"a":["}"]},"b"', 0)).toBe(11);
    expect(endOfValue("12.5]", 0)).toBe(4);
    expect(endOfValue("[[[]]] ", 0, 3)).toBe(6);
    expect(endOfValue("[[[]]] ", 0, 2)).toBe(-1);
    for (const text of ["", ",", '"a', "[1", '["]']) expect([text, endOfValue(text, 0)]).toEqual([text, -1]);
  });

  it("finds the quote that closes a string, after any number of backslashes", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("\\", '"', "a") }), (value) => {
        const text = JSON.stringify(value);
        expect(closingQuote(`[${text},""]`, 1)).toBe(text.length);
        expect(closingQuote(text.slice(0, -1), 0)).toBe(-1);
      }),
    );
  });
});

describe("the fault in a text that is not JSON", () => {
  it.each([
    ["", 0, "a JSON value"],
    ["  ", 2, "a JSON value"],
    ["{", 1, 'a key in double quotes, or "}"'],
    ["{a: 1}", 1, 'a key in double quotes, or "}"'],
    ["{'a': 1}", 1, 'a key in double quotes, or "}"'],
    ['{"a" 1}', 5, '":" after the key'],
    ['{"a": }', 6, "a JSON value"],
    ['{"a": 1', 7, '"," or "}"'],
    ['{"a": 1,}', 8, "a key in double quotes"],
    ["[1 2]", 3, '"," or "]"'],
    ["[1,]", 3, "a JSON value"],
    ["[}", 1, "a JSON value"],
    ['{"a": 1} x', 9, "nothing more"],
    ["{}}", 2, "nothing more"],
    ["true false", 5, "nothing more"],
    ["tru", 0, "a JSON value"],
    ["'a'", 0, "a JSON value"],
    ["-", 0, "a JSON value"],
    ["01", 1, "nothing more"],
    ["1.", 1, "nothing more"],
    ['["a" "b\\x"]', 5, '"," or "]"'],
  ])("of %j is at %i, where %s is expected", (text, offset, expected) => {
    expect(isJson(text)).toBe(false);
    expect(findJsonFault(text)).toMatchObject({ offset, tokenStart: offset, expected });
  });

  it.each([
    ['"a\nb"', 2, 0, "a string that is closed and well escaped"],
    ['"a\\x"', 2, 0, "a string that is closed and well escaped"],
    ['"\\u12g4"', 1, 0, "a string that is closed and well escaped"],
    ['["open', 6, 1, "a string that is closed and well escaped"],
    ['{"a\tb":1}', 3, 1, 'a key in double quotes, or "}"'],
    ['{"a":1,"b', 9, 7, "a key in double quotes"],
  ])("of %j is at %i, inside the string that begins at %i", (text, offset, tokenStart, expected) => {
    expect(isJson(text)).toBe(false);
    expect(findJsonFault(text)).toMatchObject({ offset, tokenStart, expected });
  });

  it("has line, column and the character", () => {
    expect(findJsonFault('{\n  "a": \u{1F600}\n}')).toMatchObject({
      offset: 9,
      line: 2,
      column: 8,
      found: '"\u{1F600}"',
    });
    expect(findJsonFault("[\n\n")).toMatchObject({ offset: 3, line: 3, column: 1, found: "end of the text" });
    expect(findJsonFault('"\n"')).toMatchObject({ offset: 1, line: 1, column: 2 });
  });

  it("exists exactly if JSON.parse throws", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          whole.map(({ text }) => text),
          { arbitrary: damaged, weight: 4 },
          fc.json(),
          fc.string(),
        ),
        (text) => {
          expect(findJsonFault(text) === undefined).toBe(isJson(text));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("is a position before which the text could still become JSON, and after which it cannot", () => {
    fc.assert(
      fc.property(damaged, (text) => {
        const fault = findJsonFault(text);
        if (fault === undefined) return;
        const { offset, tokenStart, line, column } = fault;
        expect(tokenStart).toBeLessThanOrEqual(offset);
        expect(offset).toBeLessThanOrEqual(text.length);
        const lines = text.slice(0, offset).split("\n");
        expect([line, column]).toEqual([lines.length, (lines.at(-1) ?? "").length + 1]);
        // The text before the fault has no other fault than its early end.
        const before = text.slice(0, offset);
        if (!isJson(before)) expect(findJsonFault(before)?.offset).toBe(before.length);
      }),
      { numRuns: 500 },
    );
  });

  it("is found in long and deep texts without exhausting the stack", () => {
    expect(findJsonFault("[".repeat(1_000_000))?.offset).toBe(1_000_000);
    expect(findJsonFault(`"${"x".repeat(5_000_000)}`)?.offset).toBe(5_000_001);
    expect(findJsonFault(`"${"\\n".repeat(500_000)}`)?.offset).toBe(1_000_001);
    expect(findJsonFault(`${"1".repeat(5_000_000)}x`)?.offset).toBe(5_000_000);
  });
});

describe("the depth of a JSON text", () => {
  it("counts objects and lists, but not brackets inside strings", () => {
    expect(nestsDeeperThan(`${"[".repeat(3)}${"]".repeat(3)}`, 3)).toBe(false);
    expect(nestsDeeperThan(`${"[".repeat(4)}${"]".repeat(4)}`, 3)).toBe(true);
    expect(nestsDeeperThan('{"a":[{"b":"x"}]}', 2)).toBe(true);
    expect(nestsDeeperThan(JSON.stringify(["[[[[[[[[", '\\"[[[[[[', '\\\\"[']), 1)).toBe(false);
    expect(nestsDeeperThan("[[],[],[],[],[],[]]", 2)).toBe(false);
  });

  it("is that of the deepest value", () => {
    fc.assert(
      fc.property(whole, ({ text, depth }) => {
        expect(nestsDeeperThan(text, depth)).toBe(false);
        if (depth > 0) expect(nestsDeeperThan(text, depth - 1)).toBe(true);
        const start = skipSpace(text, 0);
        expect(endOfValue(text, start, depth)).toBe(text.trimEnd().length);
        if (depth > 0) expect(endOfValue(text, start, depth - 1)).toBe(-1);
      }),
    );
  });
});
