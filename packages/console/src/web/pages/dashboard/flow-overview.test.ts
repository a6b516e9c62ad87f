import { expect, it } from "vitest";
import type { FunctionFigures } from "../../lib/use-function-figures.ts";
import type { TriggerFacts } from "../../model/flow-graph.ts";
import { columnOf, overviewOf } from "./flow-overview.ts";

const ACTIVE = { status: "active", reason: null } as const;

it("connects triggers, functions and the resources that functions use", () => {
  const flow = overviewOf({
    own: new Set(["orders::create", "pay"]),
    triggers: [
      {
        id: "t1",
        trigger_type: "http",
        function_id: "orders::create",
        config: { api_path: "/orders", http_method: "POST" },
        internal: false,
        ...ACTIVE,
      },
    ],
    figures: [{ function_id: "orders::create", calls: 4, errors: 1 } as FunctionFigures],
    seen: [
      { from: "orders::create", to: "state::set", calls: 2, errors: 0 },
      { from: "orders::create", to: "state::get", calls: 3, errors: 1 },
      { from: "orders::create", to: "pay", calls: 1, errors: 0 },
      { from: "unknown", to: "state::get", calls: 1, errors: 0 },
    ],
  });
  expect(flow.nodes.map((node) => [columnOf(node), node.label, node.note, node.errors > 0])).toEqual([
    [0, "POST /orders", undefined, false],
    [1, "orders::create", "4 calls, 1 failed", true],
    [1, "pay", "0 calls", false],
    [2, "state", undefined, false],
  ]);
  expect(flow.edges.map(({ from, to, calls, errors }) => [from, to, calls, errors])).toEqual([
    ["trigger t1", "function orders::create", 0, 0],
    ["function orders::create", "state *", 5, 1],
    ["function orders::create", "function pay", 1, 0],
  ]);
});

it("connects a queue to the functions of its jobs, unless a trigger connects them", () => {
  const flow = overviewOf({
    own: new Set(["orders::create", "mail::send", "stock"]),
    triggers: [
      { id: "t1", trigger_type: "queue", function_id: "stock", config: { queue: "stock" }, internal: false, ...ACTIVE },
    ],
    figures: [],
    seen: [
      { from: "orders::create", to: "queue::enqueue", calls: 2, errors: 0 },
      { from: "queue::enqueue", to: "mail::send", calls: 2, errors: 1 },
      { from: "queue::enqueue", to: "stock", calls: 1, errors: 0 },
    ],
  });
  expect(flow.edges.map(({ from, to, calls, errors }) => [from, to, calls, errors])).toEqual([
    ["trigger t1", "function stock", 0, 0],
    ["function orders::create", "queue *", 2, 0],
    ["queue *", "function mail::send", 2, 1],
  ]);
});

it("shows the eight busiest nodes of a column, and counts the others", () => {
  const ids = Array.from({ length: 11 }, (_, at) => `f${at}`);
  const flow = overviewOf({
    own: new Set(ids),
    triggers: [],
    figures: [{ function_id: "f10", calls: 9, errors: 0 } as FunctionFigures],
    seen: [],
  });
  expect(flow.nodes).toHaveLength(8);
  expect(flow.nodes[0]?.label).toBe("f10");
  expect(flow.more).toEqual([0, 3, 0]);
});

it("shows a trigger of each kind with its function and their edge, however rarely it runs, and cron schedules in words", () => {
  const ids = Array.from({ length: 12 }, (_, at) => `f${at}`);
  const trigger = (id: string, trigger_type: string, function_id: string, config: object): TriggerFacts => ({
    ...{ id, trigger_type, function_id, config, internal: false },
    ...ACTIVE,
  });
  const flow = overviewOf({
    own: new Set(ids),
    triggers: [
      ...ids.slice(0, 9).map((id) => trigger(`http ${id}`, "http", id, { api_path: `/${id}`, http_method: "GET" })),
      trigger("c", "cron", "f10", { expression: "*/20 * * * * *" }),
      trigger("s", "state", "f11", { scope: "orders" }),
    ],
    figures: ids.map((function_id, at) => ({ function_id, calls: 100 - at, errors: 0 }) as FunctionFigures),
    seen: [],
    cronTexts: new Map([["*/20 * * * * *", "Every 20 seconds"]]),
  });
  const labels = new Map(flow.nodes.map(({ id, label }) => [id, label]));
  expect(flow.edges.map(({ from, to }) => `${labels.get(from)} > ${labels.get(to)}`)).toEqual([
    ...["GET /f0 > f0", "GET /f1 > f1", "GET /f2 > f2", "GET /f3 > f3", "GET /f4 > f4", "GET /f5 > f5"],
    ...["Every 20 seconds > f10", "orders > f11"],
  ]);
  expect(flow.nodes).toHaveLength(16);
  expect(flow.more).toEqual([3, 4, 0]);
});
