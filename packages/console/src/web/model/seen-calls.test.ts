import { expect, it } from "vitest";
import { type FlowSpan, seenCalls } from "./seen-calls.ts";

function span(id: string, parent: string | null, functionId: string | undefined, status = "ok"): FlowSpan {
  const attributes_map =
    functionId === undefined ? {} : { "svc.function_id": functionId, "svc.invocation_id": `i-${id}` };
  return { trace_id: "t", span_id: id, parent_span_id: parent, status, attributes_map };
}

it("does not count a job as a call of its function", () => {
  const job: FlowSpan = {
    trace_id: "t",
    span_id: "2",
    parent_span_id: "1",
    status: "ok",
    attributes_map: { "svc.function_id": "mail::send" },
  };
  expect(seenCalls([span("1", null, "orders::take"), job, span("3", "2", "mail::send")])).toEqual([
    { from: "orders::take", to: "mail::send", calls: 1, errors: 0 },
  ]);
});

it("does not count a handler's own span as a call of its function", () => {
  const part: FlowSpan = {
    ...span("2", "1", "orders::take"),
    attributes_map: span("1", null, "orders::take").attributes_map,
  };
  expect(seenCalls([span("1", null, "orders::take"), part, span("3", "2", "payments::charge")])).toEqual([
    { from: "orders::take", to: "payments::charge", calls: 1, errors: 0 },
  ]);
});

it("reports a function that calls itself", () => {
  expect(seenCalls([span("1", null, "count::down"), span("2", "1", "count::down")])).toEqual([
    { from: "count::down", to: "count::down", calls: 1, errors: 0 },
  ]);
});

it("finds the caller above spans without a function", () => {
  const spans = [
    span("1", null, "orders::create"),
    span("2", "1", undefined),
    span("3", "2", "state::set"),
    span("4", "1", "state::set", "error"),
    span("5", "9", "lost"),
  ];
  expect(seenCalls(spans)).toEqual([{ from: "orders::create", to: "state::set", calls: 2, errors: 1 }]);
});

it("terminates for cyclic parents", () => {
  expect(
    seenCalls([span("1", "2", undefined), span("2", "1", undefined), span("3", "1", "a"), span("4", "4", "b")]),
  ).toEqual([]);
});
