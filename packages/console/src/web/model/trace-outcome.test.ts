import { expect, it, vi } from "vitest";
import { span } from "./testing/spans.ts";

// lib/time.ts reads the time zone from localStorage.
vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });
const { buildForest } = await import("./span-forest.ts");
const { asyncWorkText, firstFailure, outcomeOf } = await import("./trace-outcome.ts");

it("takes status and duration from the root span, and reports later work separately", () => {
  const request = span("request", null, 0, 139);
  const failedLater = span("mail", "request", 130, 1_620, { status: "error" });
  expect(outcomeOf(buildForest([request, failedLater]))).toEqual({
    status: "ok",
    durationMs: 139,
    asyncWork: { until_ms: 1_620, errors: 1 },
  });
  expect(outcomeOf(buildForest([request, span("mail", "request", 130, null)])).asyncWork).toEqual({
    until_ms: null,
    errors: 0,
  });
  // A handled failure within the request, and an end that differs by less than clocks do.
  const within = span("try", "request", 1, 140.5, { status: "error" });
  expect(outcomeOf(buildForest([request, within]))).toEqual({ status: "ok", durationMs: 139, asyncWork: undefined });
  expect(outcomeOf(buildForest([span("a", null, 0, 5, { status: "error" })])).status).toBe("error");
  expect(outcomeOf(buildForest([span("a", null, 0, null), failedLater]))).toMatchObject({
    status: "pending",
    durationMs: undefined,
  });
});

it("takes all spans together if the root span is missing", () => {
  const orphans = [span("a", "gone", 0, 5), span("b", "gone", 10, 30, { status: "error" })];
  expect(outcomeOf(buildForest(orphans))).toEqual({ status: "error", durationMs: 30, asyncWork: undefined });
});

it("finds the span that failed first, which is not the outermost", () => {
  const spans = [
    span("request", null, 0, 100, { status: "error" }),
    span("handler", "request", 1, 99, { status: "error" }),
    span("charge", "handler", 10, 50, { status: "error" }),
    // Ends at the same time as its caller.
    span("call", "charge", 11, 50, { status: "error" }),
    span("log", "handler", 60, 98, { status: "error" }),
    span("ok", "handler", 2, 5),
  ];
  expect(firstFailure(buildForest(spans))?.id).toBe("call");
  expect(firstFailure(buildForest([span("ok", null, 0, 1)]))).toBeUndefined();
});

it("describes later work", () => {
  expect(asyncWorkText({ until_ms: 1_620, errors: 1 })).toBe("until +1.62 s, 1 error");
  expect(asyncWorkText({ until_ms: null, errors: 0 })).toBe("still running");
});
