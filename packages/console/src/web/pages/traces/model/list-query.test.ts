import { expect, it } from "vitest";
import { filtersOf, filterText, readFilters } from "./list-query.ts";

it("builds the payload from the address", () => {
  const search = {
    q: 'status:error dur>200ms -service:cron attr.http.route~orders "card declined"',
    fn: "math::add",
    attr: ["user.id:equals:7"],
    range: "15m",
  };
  expect(filtersOf(search, 1_000_000)).toEqual({
    status: "error",
    min_duration_ms: 200.001,
    text: "card declined",
    function_id: "math::add",
    start_time: 100_000,
    filters: [
      { key: "service", op: "not_equals", value: "cron" },
      { key: "http.route", op: "contains", value: "orders" },
      { key: "user.id", op: "equals", value: "7" },
    ],
  });
});

it("has no filters if the address has none", () => {
  expect(filtersOf({}, 5)).toEqual({});
  expect(filterText({ range: "all" })).toBeUndefined();
});

it("sends the query with alternatives, without what has an error", () => {
  const { filters, problems } = readFilters({ q: "error and (fn:a::* or functon:b) status:ok", fn: "x" }, 0);
  expect(problems).toEqual(["unknown field functon; did you mean function? (at character 23)"]);
  expect(filters).toEqual({ query: "error status:ok", with_errors: true, status: "ok", function_id: "x" });
  expect(filtersOf({ q: "(error or dur>1s) #x" }, 0)).toEqual({ query: "(error or dur>1s)" });
});

it("skips disabled terms, and reports errors", () => {
  const { filters, problems } = readFilters({ q: "#status:error /a+/ dur:fast" }, 0);
  expect(filters).toEqual({});
  expect(problems).toHaveLength(2);
});

it("uses both ends of the range in the address", () => {
  expect(filtersOf({ from: 10, to: 20, range: "1h" }, 99)).toEqual({ start_time: 10, end_time: 20 });
});
