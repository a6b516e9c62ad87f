import { describe, expect, it } from "vitest";
import {
  activeTerms,
  attrParam,
  durationMs,
  engineFilterOf,
  type FieldTerm,
  type FilterTerm,
  formatFilter,
  parseFilter,
  termOfAttrParam,
} from "./filter-grammar.ts";

function field(name: string, op: FieldTerm["op"], value: string, more: Partial<FieldTerm> = {}): FieldTerm {
  return { kind: "field", field: name, op, value, negated: false, off: false, ...more };
}
function text(value: string, more: Partial<FilterTerm> = {}): FilterTerm {
  return { kind: "text", text: value, negated: false, off: false, ...more } as FilterTerm;
}

describe("parseFilter", () => {
  it("parses fields, negation, comparisons, quoted text and regular expressions", () => {
    expect(
      parseFilter(
        'level:error source:api -source:cron dur>200ms attr.http.status>=500 name~check user:* "free text" /time(out|d)/',
      ),
    ).toEqual({
      terms: [
        field("level", "equals", "error"),
        field("source", "equals", "api"),
        field("source", "equals", "cron", { negated: true }),
        field("dur", "gt", "200ms"),
        field("attr.http.status", "gte", "500"),
        field("name", "contains", "check"),
        field("user", "exists", ""),
        text("free text"),
        { kind: "regex", text: "time(out|d)", negated: false, off: false },
      ],
      problems: [],
    });
  });

  it("parses text that only looks like a field: addresses, function ids, times, paths, single signs", () => {
    for (const each of ["http://localhost:3111/x", "math::add", "12:30", "/orders/7", "/a/b/", "-", "#", ":", "ü"])
      expect(parseFilter(each)).toEqual({ terms: [text(each)], problems: [] });
  });

  it("keeps a disabled term, and excludes it from the active ones", () => {
    const { terms } = parseFilter("#level:error #-source:cron late");
    expect(terms).toEqual([
      field("level", "equals", "error", { off: true }),
      field("source", "equals", "cron", { negated: true, off: true }),
      text("late"),
    ]);
    expect(activeTerms(terms)).toEqual([text("late")]);
  });

  it("reports what it cannot parse, and keeps the rest", () => {
    expect(parseFilter('level: "open').problems).toEqual([
      "level: needs a value",
      "the quotation mark before “open” is not closed",
    ]);
    expect(parseFilter("/(/ x")).toEqual({
      terms: [text("x")],
      problems: [expect.stringContaining("is not a regular expression")],
    });
  });

  it("parses values with colons, quotation marks and spaces", () => {
    expect(parseFilter('fn:math::add trace:a"b path:"a \\"b\\" \\\\ c"').terms).toEqual([
      field("fn", "equals", "math::add"),
      field("trace", "equals", 'a"b'),
      field("path", "equals", 'a "b" \\ c'),
    ]);
  });
});

describe("formatFilter", () => {
  it("formats terms so that parseFilter returns the same", () => {
    const nasty = [
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
      "a:b",
      "12:30",
      "ü 👍",
      "x\ny",
      "-",
      "#",
      "a\\ b",
      '"x',
      'x"',
    ];
    for (const value of nasty)
      for (const flags of [{}, { negated: true }, { off: true }, { negated: true, off: true }]) {
        const terms = [
          field("attr.x", "equals", value, flags),
          ...(value === "" ? [] : [text(value, flags)]),
          text("end"),
        ];
        expect(parseFilter(formatFilter(terms)).terms, formatFilter(terms)).toEqual(terms);
      }
  });
});

describe("the other forms", () => {
  it("reads durations in every unit", () => {
    expect(["200ms", "1.5s", "455µs", "455us", "2min", "250", "1h"].map(durationMs)).toEqual([
      200, 1500, 0.455, 0.455, 120_000, 250, 3_600_000,
    ]);
    expect(["", "x", "5 apples", "-1s"].map(durationMs)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it("converts terms to filters of the engine", () => {
    expect(engineFilterOf(field("attr.http.status", "gte", "500"))).toEqual({
      key: "http.status",
      op: "gte",
      value: "500",
    });
    expect(engineFilterOf(field("attr.x", "equals", "1", { negated: true }))).toEqual({
      key: "x",
      op: "not_equals",
      value: "1",
    });
    expect(engineFilterOf(field("resource.host", "exists", "", { negated: true }))).toEqual({
      key: "resource.host",
      op: "not_exists",
    });
    expect(engineFilterOf(field("attr.x", "gt", "1", { negated: true }))).toBeUndefined();
  });

  it("keeps attributes in the address, including those with colons", () => {
    for (const term of [
      field("attr.a:b%", "equals", "x:y", { negated: true }),
      field("resource.host", "contains", ""),
      field("attr.k", "exists", ""),
    ])
      expect(termOfAttrParam(attrParam(term))).toEqual(term);
    expect(termOfAttrParam("nonsense")).toBeUndefined();
  });
});
