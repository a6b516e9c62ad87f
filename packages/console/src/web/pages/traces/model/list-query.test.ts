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
    min_duration_ms: 200,
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

it("skips disabled terms, and reports unsupported ones", () => {
  const { filters, problems } = readFilters({ q: "#status:error -status:ok /a+/ dur:fast" }, 0);
  expect(filters).toEqual({});
  expect(problems).toHaveLength(3);
});

it("uses both ends of the range in the address", () => {
  expect(filtersOf({ from: 10, to: 20, range: "1h" }, 99)).toEqual({ start_time: 10, end_time: 20 });
});
