import { expect, it } from "vitest";
import type { FunctionFigures } from "../../lib/function-figures.ts";
import { type FlowSpan, flowOf, seenCalls, triggerLabel } from "./flow-model.ts";

function span(id: string, parent: string | null, functionId: string | undefined, status = "ok"): FlowSpan {
  const attributes_map = functionId === undefined ? {} : { "svc.function_id": functionId, "svc.invocation_id": `i-${id}` };
  return { trace_id: "t", span_id: id, parent_span_id: parent, status, attributes_map };
}

it("takes no job for a call of its function, which would call itself", () => {
  const job: FlowSpan = { trace_id: "t", span_id: "2", parent_span_id: "1", status: "ok", attributes_map: { "svc.function_id": "mail::send" } };
  expect(seenCalls([span("1", null, "orders::take"), job, span("3", "2", "mail::send")])).toEqual([
    { from: "orders::take", to: "mail::send", calls: 1, errors: 0 },
  ]);
});

it("takes no span that a handler opened for a call of its function, which would call itself", () => {
  const part: FlowSpan = { ...span("2", "1", "orders::take"), attributes_map: span("1", null, "orders::take").attributes_map };
  expect(seenCalls([span("1", null, "orders::take"), part, span("3", "2", "payments::charge")])).toEqual([
    { from: "orders::take", to: "payments::charge", calls: 1, errors: 0 },
  ]);
});

it("tells of a function that calls itself", () => {
  expect(seenCalls([span("1", null, "count::down"), span("2", "1", "count::down")])).toEqual([{ from: "count::down", to: "count::down", calls: 1, errors: 0 }]);
});

it("finds the caller above spans that are no function's", () => {
  const spans = [
    span("1", null, "orders::create"),
    span("2", "1", undefined),
    span("3", "2", "state::set"),
    span("4", "1", "state::set", "error"),
    span("5", "9", "lost"),
  ];
  expect(seenCalls(spans)).toEqual([{ from: "orders::create", to: "state::set", calls: 2, errors: 1 }]);
});

it("does not run in circles", () => {
  expect(seenCalls([span("1", "2", undefined), span("2", "1", undefined), span("3", "1", "a"), span("4", "4", "b")])).toEqual([]);
});

it("joins triggers, functions and what they use", () => {
  const flow = flowOf({
    own: new Set(["orders::create", "pay"]),
    triggers: [{ id: "t1", trigger_type: "http", function_id: "orders::create", config: { api_path: "/orders", http_method: "POST" }, internal: false }],
    figures: [{ function_id: "orders::create", calls: 4, errors: 1 } as FunctionFigures],
    seen: [
      { from: "orders::create", to: "state::set", calls: 2, errors: 0 },
      { from: "orders::create", to: "state::get", calls: 3, errors: 1 },
      { from: "orders::create", to: "pay", calls: 1, errors: 0 },
      { from: "somebody", to: "state::get", calls: 1, errors: 0 },
    ],
  });
  expect(flow.nodes.map(({ column, label, note, isFailing }) => [column, label, note, isFailing])).toEqual([
    [0, "POST /orders", undefined, false],
    [1, "orders::create", "4 calls, 1 failed", true],
    [1, "pay", "0 calls", false],
    [2, "state", undefined, false],
  ]);
  expect(flow.edges.map(({ from, to, calls, errors }) => [from, to, calls, errors])).toEqual([
    ["trigger t1", "function orders::create", 0, 0],
    ["function orders::create", "target state", 5, 1],
    ["function orders::create", "function pay", 1, 0],
  ]);
});

it("joins a queue to what its jobs run, unless a trigger does", () => {
  const flow = flowOf({
    own: new Set(["orders::create", "mail::send", "stock"]),
    triggers: [{ id: "t1", trigger_type: "queue", function_id: "stock", config: { queue: "stock" }, internal: false }],
    figures: [],
    seen: [
      { from: "orders::create", to: "queue::enqueue", calls: 2, errors: 0 },
      { from: "queue::enqueue", to: "mail::send", calls: 2, errors: 1 },
      { from: "queue::enqueue", to: "stock", calls: 1, errors: 0 },
    ],
  });
  expect(flow.edges.map(({ from, to, calls, errors }) => [from, to, calls, errors])).toEqual([
    ["trigger t1", "function stock", 0, 0],
    ["function orders::create", "target queues", 2, 0],
    ["target queues", "function mail::send", 2, 1],
  ]);
});

it("shows eight of a column, the busiest, and says how many more there are", () => {
  const ids = Array.from({ length: 11 }, (_, at) => `f${at}`);
  const flow = flowOf({
    own: new Set(ids),
    triggers: [],
    figures: [{ function_id: "f10", calls: 9, errors: 0 } as FunctionFigures],
    seen: [],
  });
  expect(flow.nodes).toHaveLength(8);
  expect(flow.nodes[0]?.label).toBe("f10");
  expect(flow.more).toEqual([0, 3, 0]);
});

it("names triggers by what occasions them", () => {
  expect(triggerLabel({ trigger_type: "http", config: { api_path: "/x" } })).toBe("GET /x");
  expect(triggerLabel({ trigger_type: "cron", config: { expression: "0 * * * * *" } })).toBe("0 * * * * *");
  expect(triggerLabel({ trigger_type: "event", config: { topic: "order.*" } })).toBe("order.*");
  expect(triggerLabel({ trigger_type: "webhook", config: null })).toBe("webhook");
});
