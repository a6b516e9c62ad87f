import { describe, expect, it } from "vitest";
import { completeQuery } from "./complete.ts";
import { LOG_FIELDS, TRACE_FIELDS } from "./fields.ts";
import { readLogQuery } from "./log-query.ts";
import { readStateQuery } from "./state-query.ts";
import { problemText } from "./terms.ts";
import { readTraceQuery } from "./trace-query.ts";

describe("readTraceQuery", () => {
  it("uses members for what indexes serve", () => {
    const { query, problems } = readTraceQuery(
      'error and function:orders::create dur>100ms duration<=2s status:OK worker:w trigger:http trace:T -service:cron http.route~orders name:pay* "card declined"',
    );
    expect(problems).toEqual([]);
    expect(query).toEqual({
      members: {
        with_errors: true,
        function_id: "orders::create",
        min_duration_ms: 100.001,
        max_duration_ms: 2_000,
        status: "ok",
        worker: "w",
        trigger_type: "http",
        trace_id: "T",
        text: "card declined",
        filters: [
          { key: "service", op: "not_equals", value: "cron" },
          { key: "http.route", op: "contains", value: "orders" },
          { key: "name", op: "like", value: "pay*" },
        ],
      },
      groups: [],
    });
  });

  it("makes groups of what the members cannot express", () => {
    const none = { members: {}, groups: [] };
    const { query } = readTraceQuery("(status:ok or dur<5) -error function:a function:b -attr.n>5 fn:x::*");
    expect(query).toEqual({
      members: { function_id: "a", filters: [{ key: "svc.function_id", op: "like", value: "x::*" }] },
      groups: [
        {
          negated: false,
          any: [
            { ...none, members: { status: "ok" } },
            { ...none, members: { max_duration_ms: 4.999 } },
          ],
        },
        { negated: true, any: [{ ...none, members: { with_errors: true } }] },
        { negated: false, any: [{ ...none, members: { function_id: "b" } }] },
        { negated: true, any: [{ ...none, members: { filters: [{ key: "n", op: "gt", value: "5" }] } }] },
      ],
    });
  });

  it("reports what traces do not have", () => {
    const messages = (text: string): readonly string[] => readTraceQuery(text).problems.map(problemText);
    expect(messages("error functon:x")).toEqual(["unknown field functon; did you mean function? (at character 7)"]);
    expect(messages("(a or customer:7)")).toEqual([
      expect.stringMatching(/^unknown field customer; expected status, .* or attr\.customer .*\(at character 7\)$/),
    ]);
    expect(messages("duration:fast")).toEqual([
      "expected duration with >, >=, < or <= and a duration, e.g. duration>100ms (at character 1)",
    ]);
    expect(messages("x status:late")).toEqual(["expected status:ok, status:error or status:pending (at character 3)"]);
    expect(messages("/a+/")).toEqual(["regular expressions are supported for log entries only (at character 1)"]);
  });
});

describe("readLogQuery", () => {
  it("uses members for what indexes serve", () => {
    const { query, problems } = readLogQuery(
      'level:error level>=warn source:api -source:cron fn:a::b worker:w trace:T attr.http.status>=500 -attr.u:ann "out of" -noise /t(o|u)/',
    );
    expect(problems).toEqual([]);
    expect(query).toEqual({
      members: {
        levels: ["ERROR"],
        severity_min: 13,
        services: ["api"],
        exclude: { services: ["cron"], text: "noise" },
        function_id: "a::b",
        worker: "w",
        trace_id: "T",
        text: "out of",
        regex: "t(o|u)",
        filters: [
          { key: "http.status", op: "gte", value: "500" },
          { key: "u", op: "not_equals", value: "ann" },
        ],
      },
      groups: [],
    });
  });

  it("reports what log entries do not have", () => {
    const messages = (text: string): readonly string[] => readLogQuery(text).problems.map(problemText);
    expect(messages("level:wran")).toEqual([
      "expected a level: trace, debug, info, warn, error, fatal, e.g. level:error or level>=warn (at character 1)",
    ]);
    expect(messages("levle:error")).toEqual(["unknown field levle; did you mean level? (at character 1)"]);
    expect(messages("(/a/ or b)")).toEqual([
      "only one regular expression is possible, outside of parentheses and not negated (at character 2)",
    ]);
  });
});

describe("completeQuery", () => {
  const known = {
    fields: TRACE_FIELDS,
    attributes: ["attr.http.route"],
    valuesOf: (name: string) => (name === "function" ? ["orders::create", "math::add", "a b"] : []),
  };
  const texts = (text: string, caret = text.length): readonly string[] | undefined =>
    completeQuery(text, caret, known)?.options.map((option) => option.text);

  it("offers names of fields and attributes", () => {
    expect(texts("error and fu")).toEqual(["function:"]);
    expect(texts("(d")).toEqual(["duration>"]);
    expect(texts("-htt")).toEqual(["attr.http.route:"]);
    expect(texts("e")?.[0]).toBe("error");
    expect(texts("a ")).toBeUndefined();
    expect(texts('"fun')).toBeUndefined();
  });

  it("offers values of the field before the caret, by any of its names", () => {
    expect(completeQuery("x fn:cre error", 8, known)).toEqual({
      from: 5,
      to: 8,
      options: [{ text: "orders::create" }],
    });
    expect(texts("function:")).toEqual(["orders::create", "math::add", '"a b"']);
    expect(texts("status:")).toEqual(["ok", "error", "pending"]);
    expect(completeQuery("level>=w", 8, { fields: LOG_FIELDS, valuesOf: () => [] })?.options).toEqual([
      { text: "warn" },
    ]);
    expect(texts("function:math::add")).toBeUndefined();
  });
});

describe("readStateQuery", () => {
  const NOW = 1_000_000_000;
  const item = (scope: string, key: string, value: unknown) => {
    const json = JSON.stringify(value);
    return { scope, key, json, version: 3, bytes: json.length, updatedAtMs: NOW - 60_000 };
  };
  const order = item("orders", "o-7", {
    status: "Failed",
    total: 120.5,
    order: { id: 7 },
    items: [{ sku: "a" }, { sku: "b" }],
    at: "2026-11-27T10:00:00Z",
  });

  it.each([
    ["", true],
    ["scope:orders", true],
    ["group:ord*", true],
    ["scope:users", false],
    ["key:o-* and value.status:Failed", true],
    ["value.status~fail -key:o-8", true],
    ["value.total>100 value.total<=120.5", true],
    ["value.total>1000", false],
    ["attr.status:Failed order.id:7", true],
    ["value.items.sku:b", true],
    ["value.items.0.sku:b", false],
    ["value.items.1.sku:b", true],
    ["value.missing:*", false],
    ["not value.missing:* and value.status:*", true],
    ["value.at>=2026-11-27", true],
    ["value.status>5", true],
    ["type:object version>=3 size<500", true],
    ["type:string", false],
    ["updated<2m", true],
    ["updated<30s", false],
    ["failed", true],
    ["(scope:users or value.total:120.5)", true],
    ["#scope:users", true],
    ["value.__proto__:*", false],
  ])("matches by scope, key, value and facts: %s is %s", (text, expected) => {
    const { query, problems } = readStateQuery(text);
    expect(problems).toEqual([]);
    expect(query.matches(order, NOW)).toBe(expected);
  });

  it("names the scope and the prefix of keys that all matching items have", () => {
    const parts = (text: string): object => {
      const { matches: _, ...rest } = readStateQuery(text).query;
      return rest;
    };
    expect(parts("scope:orders key:o-*x")).toEqual({ scope: "orders", prefix: "o-" });
    expect(parts("key:o-7")).toEqual({ prefix: "o-7" });
    expect(parts("-scope:orders scope:o* (key:a or key:b)")).toEqual({});
  });

  it("reports what state does not have", () => {
    const messages = (text: string): readonly string[] => readStateQuery(text).problems.map(problemText);
    expect(messages("error")).toEqual([expect.stringMatching(/^"error" is not possible for state.*at character 1/)]);
    expect(messages("scpe:x")).toEqual(["unknown field scpe; did you mean scope? (at character 1)"]);
    expect(messages("updated:x")).toEqual([expect.stringMatching(/^expected updated with >/)]);
    expect(messages("(a /x/)")).toEqual([expect.stringMatching(/^regular expressions/)]);
  });
});
