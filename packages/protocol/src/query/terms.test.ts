import { describe, expect, it } from "vitest";
import { durationMs } from "./duration.ts";
import {
  activeTerms,
  type FieldTerm,
  type FilterTerm,
  formatFilter,
  type GroupTerm,
  parseFilter,
  problemText,
} from "./terms.ts";

const COMMON = { negated: false, off: false };

function field(name: string, op: FieldTerm["op"], value: string, more: Partial<FieldTerm> = {}): FieldTerm {
  return { kind: "field", field: name, op, value, ...COMMON, ...more };
}
function text(value: string, more: Partial<FilterTerm> = {}): FilterTerm {
  return { kind: "text", text: value, ...COMMON, ...more } as FilterTerm;
}
function group(any: readonly (readonly FilterTerm[])[], more: Partial<GroupTerm> = {}): GroupTerm {
  return { kind: "group", any, ...COMMON, ...more };
}
const error: FilterTerm = { kind: "error", ...COMMON };

function withoutPosition(term: FilterTerm): FilterTerm {
  const { at: _, ...rest } = term;
  return rest.kind === "group" ? { ...rest, any: rest.any.map((terms) => terms.map(withoutPosition)) } : rest;
}
function termsOf(query: string): readonly FilterTerm[] {
  const { terms, problems } = parseFilter(query);
  expect(problems, query).toEqual([]);
  return terms.map(withoutPosition);
}
function problemsOf(query: string): readonly string[] {
  return parseFilter(query).problems.map(problemText);
}

describe("parseFilter", () => {
  it("parses fields, negation, comparisons, patterns, quoted text and regular expressions", () => {
    expect(
      termsOf(
        'level:error source:api -source:cron dur>200ms attr.http.status>=500 name~check user:* fn:orders::* trigger!=http "free text" /time(out|d)/',
      ),
    ).toEqual([
      field("level", "equals", "error"),
      field("source", "equals", "api"),
      field("source", "equals", "cron", { negated: true }),
      field("dur", "gt", "200ms"),
      field("attr.http.status", "gte", "500"),
      field("name", "contains", "check"),
      field("user", "exists", ""),
      field("fn", "like", "orders::*"),
      field("trigger", "equals", "http", { negated: true }),
      text("free text"),
      { kind: "regex", text: "time(out|d)", ...COMMON },
    ]);
  });

  it("joins filters with and, or and not, and groups them with parentheses", () => {
    expect(termsOf("error and function:orders::* AND duration>100ms")).toEqual([
      error,
      field("function", "like", "orders::*"),
      field("duration", "gt", "100ms"),
    ]);
    expect(termsOf("a b or not c")).toEqual([group([[text("a"), text("b")], [text("c", { negated: true })]])]);
    expect(termsOf("not (a or (b -c)) d")).toEqual([
      group([[text("a")], [group([[text("b"), text("c", { negated: true })]])]], { negated: true }),
      text("d"),
    ]);
    expect(termsOf("not(level:warn) -(x)")).toEqual([
      group([[field("level", "equals", "warn")]], { negated: true }),
      group([[text("x")]], { negated: true }),
    ]);
    expect(termsOf("not not a not -b")).toEqual([text("a"), text("b")]);
  });

  it("parses text that only looks like something else", () => {
    for (const each of [
      "http://localhost:3111/x",
      "math::add",
      "12:30",
      "/orders/7",
      "/a/b/",
      "-",
      "#",
      ":",
      "ü",
      "Error",
    ])
      expect(termsOf(each)).toEqual([text(each)]);
    expect(termsOf('"and" "error" nothing f(x)')).toEqual([text("and"), text("error"), text("nothing"), text("f(x)")]);
    expect(termsOf("(f(x))")).toEqual([group([[text("f(x)")]])]);
    expect(termsOf('fn:"a*"')).toEqual([field("fn", "equals", "a*")]);
  });

  it("keeps a disabled term, and excludes it from the active ones", () => {
    const terms = termsOf("#level:error #-source:cron #(a or b) late");
    expect(terms).toEqual([
      field("level", "equals", "error", { off: true }),
      field("source", "equals", "cron", { negated: true, off: true }),
      group([[text("a")], [text("b")]], { off: true }),
      text("late"),
    ]);
    expect(activeTerms(terms)).toEqual([text("late")]);
    expect(activeTerms(termsOf("(#a b or c) (#d or e)"))).toEqual([group([[text("b")], [text("c")]])]);
  });

  it("reports what it cannot parse with its position and what was expected, and keeps the rest", () => {
    expect(problemsOf("a level: b")).toEqual(['expected a value after "level:" (at character 9)']);
    expect(problemsOf('a "open')).toEqual([
      "expected a closing quotation mark for the one at character 3 (at character 8)",
    ]);
    expect(problemsOf("a and")).toEqual(['expected a filter after "and" (at character 6)']);
    expect(problemsOf("or a")).toEqual(['expected a filter before "or" (at character 1)']);
    expect(problemsOf("a and or b")).toEqual(['expected a filter before "or" (at character 7)']);
    expect(problemsOf("a not")).toEqual(['expected a filter after "not" (at character 6)']);
    expect(problemsOf("a (b or c")).toEqual(['expected a closing parenthesis ")" (at character 10)']);
    expect(problemsOf("a ()")).toEqual(['expected a filter after "(" (at character 4)']);
    expect(problemsOf("(".repeat(100_000))[0]).toMatch(/^more than 16 nested parentheses/);
    const broken = parseFilter("/(/ x");
    expect(broken.problems.map(problemText)).toEqual([expect.stringContaining("is not a regular expression")]);
    expect(broken.terms.map(withoutPosition)).toEqual([text("x")]);
  });

  it("parses values with colons, quotation marks and spaces", () => {
    expect(termsOf('fn:math::add trace:a"b path:"a \\"b\\" \\\\ c"')).toEqual([
      field("fn", "equals", "math::add"),
      field("trace", "equals", 'a"b'),
      field("path", "equals", 'a "b" \\ c'),
    ]);
  });
});

describe("formatFilter", () => {
  it("formats terms so that parseFilter returns the same", () => {
    const nasty = [
      ...[
        "",
        " ",
        "a b",
        '"',
        "\\",
        '\\"',
        "-x",
        "#x",
        "level:error",
        "/x/",
        "*",
        "a*",
        "a:b",
        "12:30",
        "ü 👍",
        "x\ny",
      ],
      ...["-", "#", "a\\ b", '"x', 'x"', "(", ")", "a)", "(a", "f(x)", "and", "OR", "not", "not(", "error", "and(x)"],
    ];
    for (const value of nasty)
      for (const flags of [{}, { negated: true }, { off: true }, { negated: true, off: true }]) {
        const terms = [
          field("attr.x", "equals", value, flags),
          ...(value === "" ? [] : [text(value, flags)]),
          group([[field("attr.x", "contains", value)], [text(value === "" ? "x" : value), error]], flags),
          text("end"),
        ];
        expect(termsOf(formatFilter(terms)), formatFilter(terms)).toEqual(terms);
      }
    expect(formatFilter(parseFilter("a or b c").terms)).toBe("(a or b c)");
  });
});

describe("durationMs", () => {
  it("reads durations in every unit", () => {
    expect(["200ms", "1.5s", "455µs", "455us", "2min", "250", "1h"].map(durationMs)).toEqual([
      200, 1500, 0.455, 0.455, 120_000, 250, 3_600_000,
    ]);
    expect(["", "x", "5 apples", "-1s"].map(durationMs)).toEqual([undefined, undefined, undefined, undefined]);
  });
});
