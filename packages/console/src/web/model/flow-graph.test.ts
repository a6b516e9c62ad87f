import { expect, it } from "vitest";
import { type GraphSources, graphOf } from "./flow-graph.ts";

const NOTHING: GraphSources = {
  ...{
    functions: [],
    triggers: [],
    seen: [],
    uses: [],
    jobs: [],
    figures: new Map(),
    now: new Map(),
    queues: [],
    streams: [],
    scopes: [],
    system: false,
  },
};
const trigger = (id: string, trigger_type: string, function_id: string, config: unknown) => ({
  ...{ id, trigger_type, function_id, config, internal: false, status: "active" as const, reason: null },
});

it("contains triggers, functions and what they use, with declared and observed edges", () => {
  const graph = graphOf({
    ...NOTHING,
    functions: [{ function_id: "a" }, { function_id: "b" }, { function_id: "engine::x", internal: true }],
    triggers: [
      trigger("1", "http", "a", { api_path: "/a", http_method: "delete" }),
      trigger("2", "queue", "b", { queue: "mails" }),
      trigger("3", "cron", "gone", {}),
    ],
    seen: [{ from: "a", to: "b", calls: 3, errors: 1 }],
    uses: [{ from: "a", to: "state::set", kind: "state", name: "orders", calls: 2, errors: 0 }],
    figures: new Map([["a", { calls: 9, errors: 2 }]]),
    queues: ["mails", "idle"],
  });
  expect(graph.nodes.map(({ id, kind, method, calls }) => [id, kind, method, calls])).toEqual([
    ["function a", "function", undefined, 9],
    ["function b", "function", undefined, 0],
    ["queue mails", "queue", undefined, 0],
    ["queue idle", "queue", undefined, 0],
    ["trigger 1", "http", "DELETE", 0],
    ["trigger 2", "queue-trigger", undefined, 0],
    ["trigger 3", "cron", undefined, 0],
    ["state orders", "state", undefined, 0],
  ]);
  expect(graph.edges.map(({ from, to, kind, calls, errors }) => `${from} > ${to} ${kind} ${calls} ${errors}`)).toEqual([
    "trigger 1 > function a declared 0 0",
    "trigger 2 > function b declared 0 0",
    "queue mails > trigger 2 declared 0 0",
    "function a > function b observed 3 1",
    "function a > state orders observed 2 0",
  ]);
});

it("connects a topic to its triggers, but not a pattern", () => {
  const { edges } = graphOf({
    ...NOTHING,
    functions: [{ function_id: "a" }],
    triggers: [trigger("1", "event", "a", { topic: "order.paid" }), trigger("2", "event", "a", { topic: "order.*" })],
    uses: [{ from: "a", to: "publish", kind: "topic", name: "order.paid", calls: 1, errors: 0 }],
  });
  expect(edges.filter(({ to }) => to !== "function a").map(({ from, to }) => `${from} > ${to}`)).toEqual([
    "topic order.paid > trigger 1",
    "function a > topic order.paid",
  ]);
});

it("connects a queue to the functions of its jobs", () => {
  const { edges } = graphOf({
    ...NOTHING,
    functions: [{ function_id: "a" }, { function_id: "mail::send" }],
    uses: [{ from: "a", to: "queue::enqueue", kind: "queue", name: "mails", calls: 2, errors: 0 }],
    jobs: [{ queue: "mails", to: "mail::send", calls: 2, errors: 1 }],
    queues: ["mails"],
  });
  expect(edges.map(({ from, to, calls, errors }) => `${from} > ${to} ${calls} ${errors}`)).toEqual([
    "queue mails > function mail::send 2 1",
    "function a > queue mails 2 0",
  ]);
});

it("shows why a trigger does not work", () => {
  const [, node] = graphOf({
    ...NOTHING,
    functions: [{ function_id: "a" }],
    triggers: [{ ...trigger("1", "queue", "a", {}), status: "error", reason: "no such queue" }],
  }).nodes;
  expect(node?.note).toBe("error: no such queue");
});
