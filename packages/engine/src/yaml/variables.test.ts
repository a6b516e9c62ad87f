// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a config file are written this way
import { character } from "@svc-runtime/protocol/testing/arbitraries";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { readYaml } from "./source.ts";
import { literalText, lookupIn, readPlainScalar, substitute } from "./variables.ts";

const lookup = lookupIn({ HOST: "box", EMPTY: "", TRICK: "${HOST}" });

describe("substitute", () => {
  it.each([
    ["${HOST}", "box", true],
    ["http://${HOST}:${PORT:3111}/", "http://box:3111/", false],
    ["${HOST}${HOST}", "boxbox", false],
    ["${EMPTY:unused}", "", true],
    ["${NONE:}", "", true],
    ["${NONE:a:b c}", "a:b c", true],
    ["${TRICK}", "${HOST}", true],
    ["$${HOST}", "${HOST}", false],
    ["$${HOST} is ${HOST}", "${HOST} is box", false],
    ["$$${HOST}", "$${HOST}", false],
  ])("turns %s into %s", (text, replaced, whole) => {
    expect(substitute(text, lookup)).toEqual({ kind: "replaced", text: replaced, whole });
  });

  it("returns a text that literalText escaped unchanged", () => {
    const piece = fc.constantFrom("$", "${", "{", "}", "HOST", "${HOST}", "a");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join("");
        const written = literalText(text);
        const read = substitute(written, lookup);
        expect(read.kind === "none" ? { text: written } : read).toMatchObject({ text });
      }),
    );
  });

  it.each(["", "plain", "$HOST", "{HOST}", "100 $", "$ {HOST}"])("leaves %j alone", (text) => {
    expect(substitute(text, lookup)).toEqual({ kind: "none" });
  });

  it.each([
    ["${NONE}", "NONE is not set and has no default"],
    ["${toString}", "toString is not set"],
    ["${HOST", "is never closed"],
    ["a ${} b", "is not a variable"],
    ["${1ST:x}", "is not a variable"],
    ["${MY-HOST}", "is not a variable"],
    ["${A:${HOST}}", "cannot stand inside another"],
  ])("refuses %s", (text, message) => {
    expect(substitute(text, lookup)).toEqual({ kind: "refused", message: expect.stringContaining(message) });
  });
});

describe("readPlainScalar", () => {
  it("reads a text as the YAML parser reads an unquoted scalar", () => {
    const words = [
      "3111",
      "-5",
      "+7",
      "007",
      "0x1F",
      "0o17",
      "1.5",
      "1e3",
      ".5",
      "1.",
      "true",
      "False",
      "TRUE",
      "yes",
      "null",
      "~",
      "Null",
      "abc",
      "1_000",
      "12:30",
      "2024-01-01",
      "-",
      "0b1",
      "1.2.3",
    ];
    for (const word of words)
      expect([word, readPlainScalar(word)]).toEqual([word, parse(`a: ${word === "-" ? "'-'" : word}`).a]);
  });

  it("keeps text that YAML would not: an empty one, and a number too long to be exact", () => {
    expect(readPlainScalar("")).toBe("");
    expect(readPlainScalar("12345678901234567890")).toBe("12345678901234567890");
    expect(readPlainScalar("1e999")).toBe("1e999");
    expect(readPlainScalar("[1, 2]")).toBe("[1, 2]");
    expect(readPlainScalar('"3111"')).toBe('"3111"');
    expect(readPlainScalar(" 3111\n")).toBe(3111);
  });
});

describe("variables in a file", () => {
  const value = fc.oneof(
    fc.string(),
    fc.string({ unit: character }),
    fc.constantFrom(
      "a: b",
      "- x",
      "]",
      "}",
      "\n  injected: true",
      "# c",
      "&a",
      "*a",
      "!!map",
      "'",
      '"',
      "${X}",
      "null",
      "---",
    ),
  );

  it("cannot change the structure of the file, whatever their values", () => {
    const text =
      'before: 1\nplain: ${X}\nquoted: "${X}"\nmixed: a ${X} b\nlist:\n  - ${X}\n  - nested: ${X}\nfolded: >-\n  ${X}\nafter: 2\n';
    fc.assert(
      fc.property(value, (x) => {
        const { source, problems } = readYaml(text, lookupIn({ X: x }));
        expect(problems).toEqual([]);
        expect(source?.value).toStrictEqual({
          before: 1,
          plain: readPlainScalar(x),
          quoted: x,
          mixed: `a ${x} b`,
          list: [readPlainScalar(x), { nested: readPlainScalar(x) }],
          folded: x,
          after: 2,
        });
      }),
    );
  });

  it("replaces nothing in keys", () => {
    expect(readYaml("${X}: ${X}\n", lookupIn({ X: "v" })).source?.value).toEqual({ "${X}": "v" });
  });

  it("replaces a value once, also where an alias repeats it", () => {
    const { source } = readYaml("a: &a ${X}\nb: *a\nc: *a\n", lookupIn({ X: "${Y}", Y: "no" }));
    expect(source?.value).toEqual({ a: "${Y}", b: "${Y}", c: "${Y}" });
  });

  it("reads plain ones as YAML does and leaves quoted and tagged ones text", () => {
    const { source } = readYaml(
      "a: ${X}\nb: '${X}'\nc: \"${X}\"\nd: !!str ${X}\ne: ${X}0\nf: |\n  ${X}\n",
      lookupIn({ X: "5" }),
    );
    expect(source?.value).toEqual({ a: 5, b: "5", c: "5", d: "5", e: "50", f: "5\n" });
  });

  it("brings any text without ${ through unchanged", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!text.includes("${"));
        expect(readYaml(stringify({ text }), lookup).source?.value).toEqual({ text });
      }),
    );
  });
});
