// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a config file are written this way
import { character } from "@svc-runtime/protocol/testing/arbitraries";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatKey, readYaml } from "./source.ts";

const read = (text: string) => readYaml(text, () => undefined);
const complaints = (text: string): string[] =>
  read(text).problems.map((problem) => `${problem.line}:${problem.column} ${problem.message}`);

describe("readYaml", () => {
  it.each([
    ["a: 1\na: 2\n", ['2:1 the key "a" stands twice in the same block; keep one']],
    ["a:\n\tb: 1\n", ["2:1 a tab is used for indentation; use spaces"]],
    ["a: b: c\n", [expect.stringMatching(/^1:4 a second `key:` stands on the same line/)]],
    ["workers:\n  - name: a\n   path: b\n", [expect.stringMatching(/^3:1 a list entry does not begin with/)]],
    ["a: 'x\n", [expect.stringMatching(/a quote is opened and never closed/)]],
    ["a: 1\n---\nb: 2\n", [expect.stringMatching(/^2:1 a second document begins here/)]],
    ["a: !env X\n", [expect.stringMatching(/^1:4 the tag \(!name\) is not known/)]],
    ["? [a]\n: 1\n", [expect.stringMatching(/^1:3 a key must be plain text/)]],
    ["a: *none\n", ["1:4 the alias *none names no anchor; write &none before the value that it repeats"]],
    ["a: &a [*a]\n", ["1:8 the alias *a repeats a value that contains it"]],
    ["a: {__proto__: 1}\n", ["1:5 __proto__ cannot be a key"]],
    ["a: {b: ${X:1}}\n", [expect.stringMatching(/^1:9 this does not belong here.*needs quotes/)]],
    ["a: @x\n", [expect.stringMatching(/^1:4 a text cannot begin with this character/)]],
  ])("says what is wrong with %j and where", (text, expected) => {
    expect(complaints(text)).toEqual(expected);
  });

  it("refuses nesting before it can exhaust the stack", () => {
    for (const text of [
      "[".repeat(50_000),
      "{a: ".repeat(50_000),
      "- ".repeat(50_000),
      "? ".repeat(50_000),
      `a:\n${Array.from({ length: 100 }, (_, depth) => `${" ".repeat(depth + 1)}a:\n`).join("")}`,
    ]) {
      expect(read(text).problems).toEqual([
        expect.objectContaining({ message: "lists and maps are nested deeper than 64 levels" }),
      ]);
    }
  });

  it("reads what a real file nests", () => {
    const deep = `${Array.from({ length: 30 }, (_, depth) => `${"  ".repeat(depth)}a:\n`).join("")}${"  ".repeat(30)}- [{b: [1]}]\n`;
    expect(read(deep).problems).toEqual([]);
  });

  it("refuses aliases that multiply without bound", () => {
    const lines = [
      "a: &a [x, x, x, x, x, x, x, x, x, x]",
      ..."bcdefgh"
        .split("")
        .map(
          (name, index) => `${name}: &${name} [${Array.from({ length: 10 }, () => `*${"abcdefg"[index]}`).join(", ")}]`,
        ),
    ];
    expect(read(`${lines.join("\n")}\n`).problems).toEqual([
      expect.objectContaining({ message: expect.stringContaining("more than 100000 values") }),
    ]);
  });

  it("reads 40,000 keys of one block", () => {
    const keys = 40_000;
    const { problems, source } = read(Array.from({ length: keys }, (_, index) => `k${index}: ${index}\n`).join(""));
    expect(problems).toEqual([]);
    expect(source?.positionOf([`k${keys - 1}`])).toEqual({ line: keys, column: 9 });
  });

  it("never throws, whatever the text, and gives every problem a place in it", () => {
    const token = fc.constantFrom(
      "a",
      ": ",
      "- ",
      "? ",
      "\n",
      "\n  ",
      "\n    ",
      "[",
      "]",
      "{",
      "}",
      ", ",
      "&a ",
      "*a",
      "!t ",
      "'",
      '"',
      "|",
      ">",
      "#",
      "---\n",
      "...\n",
      "%",
      "${A}",
      "${",
      "\t",
      "\r\n",
      "\u0000",
      "\u{1f600}",
      "__proto__",
      "null",
      "~",
      "<<",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(token, { maxLength: 60 }).map((parts) => parts.join("")),
          fc.string({ unit: character }),
        ),
        (text) => {
          for (const problem of read(text).problems) expect(problem.line).toBeGreaterThan(0);
        },
      ),
      { numRuns: 400 },
    );
  });

  it("leads from a value back to its line", () => {
    const { source } = read(
      "workers:\n  - name: a\n    config:\n      port: 1.10\n  - &x\n    name: b\n  - *x\nempty:\nend: 1\n",
    );
    expect(source?.positionOf(["workers", 0, "config", "port"])).toEqual({ line: 4, column: 13 });
    expect(source?.positionOfKey(["workers", 0, "config", "port"])).toEqual({ line: 4, column: 7 });
    expect(source?.positionOf(["workers", 0, "config", "missing", "deeper"])).toEqual({ line: 4, column: 7 });
    expect(source?.positionOf(["workers", 2, "name"])).toEqual({ line: 6, column: 11 });
    expect(source?.positionOf(["empty"])).toEqual({ line: 8, column: 1 });
    expect(source?.writtenTextOf(["workers", 0, "config", "port"])).toBe("1.10");
  });
});

describe("formatKey", () => {
  it("writes a path as it is read", () => {
    expect(formatKey(["workers", 2, "config", "a b", "c-d"])).toBe('workers[2].config["a b"].c-d');
    expect(formatKey([])).toBeUndefined();
  });
});
