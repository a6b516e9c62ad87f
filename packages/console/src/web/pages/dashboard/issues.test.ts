import { expect, it } from "vitest";
import { percent } from "../../lib/percent.ts";
import type { FunctionFigures } from "../../lib/use-function-figures.ts";
import type { Worker } from "../../lib/worker-history.ts";
import { issuesOf } from "./issues.ts";

const NOW = 10_000_000;
const QUIET = {
  workers: [],
  disconnected: [],
  figures: [],
  queues: [],
  crons: [],
  alerts: [],
  health: undefined,
  seen: [],
  nowMs: NOW,
};
const worker = (id: string, more: Partial<Worker> = {}): Worker =>
  ({ id, name: "orders", internal: false, function_count: 2, connected_at_ms: 0, ...more }) as Worker;
const titles = (sources: Partial<Parameters<typeof issuesOf>[0]>): readonly string[] =>
  issuesOf({ ...QUIET, ...sources }).map(({ title }) => title);

it("returns no issues for a healthy system", () => {
  expect(
    titles({
      figures: [{ function_id: "f", calls: 100, errors: 5, error_rate: 0.05 } as FunctionFigures],
      queues: [{ queue: "mail", dead: 0 }],
      crons: [{ trigger_id: "t", function_id: "f", expression: "* * * * * *", last_run: { outcome: "ok" } }],
      alerts: [
        {
          name: "a",
          firing: false,
          silenced_until: null,
          metric: "m",
          current_value: 1,
          threshold: 2,
          window_seconds: 60,
        },
      ],
      health: { components: { otel: { status: "disabled", details: "" }, disk: { status: "healthy", details: "" } } },
    }),
  ).toEqual([]);
});

it("reports a disconnected worker for 15 minutes, unless another worker replaced it", () => {
  const disconnected = [{ worker: worker("1"), goneAtMs: NOW - 60_000 }];
  expect(titles({ disconnected })).toEqual(["Worker orders disconnected"]);
  expect(titles({ disconnected, workers: [worker("2", { connected_at_ms: NOW - 59_000 })] })).toEqual([]);
  expect(titles({ disconnected, workers: [worker("2", { connected_at_ms: NOW - 500_000 })] })).toEqual([
    "Worker orders disconnected",
  ]);
  expect(titles({ disconnected: [{ worker: worker("1"), goneAtMs: NOW - 901_000 }] })).toEqual([]);
  expect(titles({ disconnected: [{ worker: worker("1", { internal: true }), goneAtMs: NOW }] })).toEqual([]);
});

it("rounds the value of an alert's metric", () => {
  const alert = { name: "a", firing: true, silenced_until: null, metric: "m", threshold: 2_000, window_seconds: 60 };
  const details = [39.846153846, null].flatMap((current_value) =>
    issuesOf({ ...QUIET, alerts: [{ ...alert, current_value }] }).map(({ detail }) => detail),
  );
  expect(details).toEqual([
    "m is 39.85 over the last 60 s, threshold 2,000",
    "m is unknown over the last 60 s, threshold 2,000",
  ]);
});

it("sorts the most severe first, and leaves out silenced alerts", () => {
  expect(
    titles({
      figures: [{ function_id: "f", calls: 10, errors: 1, error_rate: 0.1 } as FunctionFigures],
      queues: [{ queue: "mail", dead: 3 }],
      crons: [
        { trigger_id: "t", function_id: "g", expression: "* * * * * *", last_run: { outcome: "error", error: "boom" } },
      ],
      alerts: [
        {
          name: "quiet",
          firing: true,
          silenced_until: NOW + 1,
          metric: "m",
          current_value: 9,
          threshold: 2,
          window_seconds: 60,
        },
        {
          name: "loud",
          firing: true,
          silenced_until: null,
          metric: "m",
          current_value: 9,
          threshold: 2,
          window_seconds: 60,
        },
      ],
      health: { components: { disk: { status: "degraded", details: "little room" } } },
    }),
  ).toEqual([
    "Alert loud is firing",
    "disk is degraded",
    "f is failing",
    "Dead letters in mail",
    "Cron run of g failed",
  ]);
});

it("masks secrets in the error of a cron run", () => {
  const last_run = { outcome: "error", error: "postgres://app:hunter2@db refused the connection" };
  const [issue] = issuesOf({
    ...QUIET,
    crons: [{ trigger_id: "t", function_id: "g", expression: "* * * * * *", last_run }],
  });
  expect(issue?.detail).toBe("postgres://***@db refused the connection");
});

it("does not round a small error rate to zero", () => {
  expect([0, 0.0001, 0.05, 0.5].map(percent)).toEqual(["0 %", "< 0.1 %", "5.0 %", "50 %"]);
});

it("makes one issue of those with one cause", () => {
  const failing = (function_id: string): FunctionFigures =>
    ({ function_id, calls: 10, errors: 6, error_rate: 0.6 }) as FunctionFigures;
  const cron = (trigger_id: string, function_id: string) => ({
    ...{ trigger_id, function_id, expression: "* * * * * *" },
    last_run: { outcome: "error", error: "boom" },
  });
  const call = (from: string, to: string, errors: number) => ({ from, to, calls: 10, errors });
  const issues = issuesOf({
    ...QUIET,
    figures: [failing("orders::create"), failing("checkout"), failing("payments::charge"), failing("other")],
    seen: [
      call("checkout", "orders::create", 5),
      call("orders::create", "payments::charge", 6),
      call("payments::charge", "checkout", 0),
    ],
    crons: [cron("t1", "orders::create"), cron("t2", "orders::create"), cron("t3", "reports")],
    queues: [
      { queue: "mail", dead: 3, deadFunctionId: "checkout" },
      { queue: "unread", dead: 1 },
    ],
  });
  expect(issues.map(({ title, effects = [] }) => [title, effects.map((each) => each.title)])).toEqual([
    [
      "payments::charge is failing",
      [
        "orders::create is failing",
        "checkout is failing",
        "Dead letters in mail",
        "Cron run of orders::create failed",
        "Cron run of orders::create failed",
      ],
    ],
    ["other is failing", []],
    ["Dead letters in unread", []],
    ["Cron run of reports failed", []],
  ]);
});

it("takes one of the functions that fail in a cycle as their cause", () => {
  const failing = (function_id: string): FunctionFigures =>
    ({ function_id, calls: 10, errors: 6, error_rate: 0.6 }) as FunctionFigures;
  const call = (from: string, to: string) => ({ from, to, calls: 10, errors: 6 });
  const issues = issuesOf({
    ...QUIET,
    figures: [failing("c"), failing("b"), failing("a")],
    seen: [call("a", "b"), call("b", "a"), call("c", "b")],
  });
  expect(issues.map(({ title, effects = [] }) => [title, effects.length])).toEqual([["a is failing", 2]]);
});
