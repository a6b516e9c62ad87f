import { expect, it } from "vitest";
import type { TraceSummary } from "../../../model/trace-types.ts";
import { mergeRows, orderOf, statusText } from "./live-rows.ts";

function row(id: string, start: number, more: Partial<TraceSummary> = {}): TraceSummary {
  return {
    ...{
      trace_id: id,
      root_span_id: "r",
      root_name: id,
      service: "svc",
      services: ["svc"],
      status: "ok",
      start_time_ms: start,
    },
    ...{ duration_ms: 1, span_count: 1, error_count: 0, partial: false },
    ...more,
  };
}

it("inserts new traces by the order, updates known ones in place, and removes those that no longer match", () => {
  const before = [row("c", 3), row("b", 2, { status: "pending", duration_ms: null }), row("a", 1)];
  const found = [row("d", 4), row("b", 2, { duration_ms: 9 })];
  const { rows, added } = mergeRows(before, new Set(["a", "b", "d"]), found, orderOf("start_time", "desc"));
  expect(rows.map(({ trace_id, duration_ms }) => [trace_id, duration_ms])).toEqual([
    ["d", 1],
    ["c", 1],
    ["b", 9],
  ]);
  expect(added).toBe(1);
});

it("sorts traces that have not ended as the longest", () => {
  const rows = [row("a", 1, { duration_ms: 5 }), row("b", 2, { duration_ms: null }), row("c", 3, { duration_ms: 50 })];
  expect([...rows].sort(orderOf("duration", "desc")).map(({ trace_id }) => trace_id)).toEqual(["b", "c", "a"]);
});

const LIST = { shown: 100, total: 250, totalIsLowerBound: false, isCutShort: false, isLoadingMore: false };

it("states how many rows are shown and in total", () => {
  expect(statusText(LIST)).toBe("100 of 250 traces");
  expect(statusText({ ...LIST, totalIsLowerBound: true })).toBe("100 of 250 or more traces");
  expect(statusText({ ...LIST, isLoadingMore: true })).toBe("Loading more");
});

it("does not claim that there are no traces if the search was cut short", () => {
  const cut = { ...LIST, total: 0, totalIsLowerBound: true, isCutShort: true };
  expect(statusText({ ...cut, shown: 0 })).toBe(
    "No trace matches so far: the search was stopped because it took too long",
  );
  expect(statusText({ ...cut, shown: 1 })).toBe("1 trace so far: the search was stopped because it took too long");
  expect(statusText({ ...cut, shown: 3, isLoadingMore: true })).toBe("Searching");
});
