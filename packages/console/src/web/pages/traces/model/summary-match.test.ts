import { expect, it } from "vitest";
import type { TraceSummary } from "../../../model/trace-types.ts";
import { summaryMatcher } from "./summary-match.ts";

const TRACE: TraceSummary = {
  ...{ trace_id: "a", root_span_id: "r", root_name: "POST /Orders", service: "svc", services: ["svc"], status: "ok" },
  ...{ start_time_ms: 1_000, duration_ms: 50, span_count: 1, error_count: 0, partial: false, trigger_type: "http" },
};

it.each([
  [{}, true],
  [{ status: "ok", include_internal: true }, true],
  [{ status: "error" }, false],
  [{ name: "/orders" }, true],
  [{ name: "cron" }, false],
  [{ trigger_type: "http" }, true],
  [{ trigger_type: "cron" }, false],
  [{ min_duration_ms: 50, max_duration_ms: 50 }, true],
  [{ min_duration_ms: 51 }, false],
  [{ max_duration_ms: 49 }, false],
  [{ start_time: 1_050, end_time: 1_000 }, true],
  [{ start_time: 1_051 }, false],
  [{ end_time: 999 }, false],
  [{ with_errors: true }, false],
])("decides by the summary whether a trace meets %j", (filters, matches) => {
  expect(summaryMatcher(filters)?.(TRACE)).toBe(matches);
});

it("counts a trace that has not ended as having no duration and no end", () => {
  const pending = { ...TRACE, status: "pending", duration_ms: null } as const;
  expect(summaryMatcher({ min_duration_ms: 1 })?.(pending)).toBe(false);
  expect(summaryMatcher({ start_time: 9_999 })?.(pending)).toBe(true);
});

it("counts the work after the root span as part of the trace", () => {
  const later = { ...TRACE, async_work: { until_ms: 500, errors: 1 }, error_count: 1 };
  expect(summaryMatcher({ start_time: 1_500, status: "ok", with_errors: true })?.(later)).toBe(true);
  expect(summaryMatcher({ start_time: 1_501 })?.(later)).toBe(false);
  const running = { ...TRACE, async_work: { until_ms: null, errors: 0 } };
  expect(summaryMatcher({ start_time: 9_999, max_duration_ms: 50 })?.(running)).toBe(true);
});

it("leaves filters that need the spans to the engine", () => {
  for (const filters of [
    { function_id: "f" },
    { text: "x" },
    { filters: [] },
    { worker: "w" },
    { status: "ok", text: "x" },
  ])
    expect(summaryMatcher(filters)).toBeUndefined();
});
