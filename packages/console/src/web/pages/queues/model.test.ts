import type { QueueStats } from "@svc-runtime/protocol/listings";
import { expect, it } from "vitest";
import { readJob, readJobPage, rowsOf, selectionOf, titleOf } from "./model.ts";

const NONE = {
  waiting: 0,
  delayed: 0,
  active: 0,
  dead: 0,
  bytes: 0,
  paused: false,
  added: 0,
  done: 0,
  died: 0,
  expired: 0,
  cancelled: 0,
  kept: 0,
} as const;
const queue = (name: string, more: Partial<QueueStats> = {}): QueueStats => ({
  ...NONE,
  queue: name,
  type: "standard",
  concurrency: 1,
  topic: null,
  ...more,
});

const queues = [
  queue("emails", { waiting: 2 }),
  queue("topic:orders>audit::log", { topic: "orders", waiting: 1, dead: 1 }),
  queue("topic:orders>mail::send", { topic: "orders", waiting: 3 }),
];
const topics = [
  { name: "orders", broker_type: "builtin", subscriber_count: 2 },
  { name: "alone", broker_type: "builtin", subscriber_count: 0 },
  { name: "emails", broker_type: "function_queue", subscriber_count: 1 },
];

it("lists queues, then topics with subscriptions and totals", () => {
  const rows = rowsOf(queues, topics, "");
  expect(rows.map(({ kind, label, waiting, dead }) => [kind, label, waiting, dead])).toEqual([
    ["queue", "emails", 2, 0],
    ["topic", "alone", null, null],
    ["topic", "orders", 4, 1],
    ["subscription", "audit::log", 1, 1],
    ["subscription", "mail::send", 3, 0],
  ]);
});

it("searches by names of queues, topics and subscribers", () => {
  expect(rowsOf(queues, topics, "AUDIT").map(({ label }) => label)).toEqual(["orders", "audit::log"]);
  expect(rowsOf(queues, topics, "orders").map(({ label }) => label)).toEqual(["orders", "audit::log", "mail::send"]);
  expect(rowsOf(queues, topics, "nothing")).toEqual([]);
});

it("accepts names of queues, names of topics and IDs of topic rows", () => {
  expect(selectionOf("emails", queues, topics)).toMatchObject({ kind: "queue" });
  expect(selectionOf("orders", queues, topics)).toMatchObject({ kind: "topic", name: "orders" });
  expect(selectionOf("topic:alone", queues, topics)).toMatchObject({ kind: "topic", name: "alone" });
  expect(titleOf(selectionOf("topic:orders>audit::log", queues, topics))).toBe("audit::log on orders");
  expect(selectionOf("gone", queues, topics)).toBeUndefined();
});

it("prefers a queue to a topic of the same name", () => {
  const both = [...topics, { name: "emails", broker_type: "builtin", subscriber_count: 0 }];
  expect(selectionOf("emails", queues, both)).toMatchObject({ kind: "queue" });
  expect(selectionOf("topic:emails", queues, both)).toMatchObject({ kind: "topic", name: "emails" });
});

it("reads jobs and keeps their data as text", () => {
  const job = '{"job_id":"j","queue":"q","state":"dead","failures":[{"attempt":1}],"data":{"n":9007199254740993}}';
  expect(readJobPage(`{"jobs":[${job}],"cursor":null}`)).toMatchObject({
    jobs: [{ job_id: "j", failures: [{ attempt: 1 }], json: '{"n":9007199254740993}' }],
    cursor: null,
  });
  expect("json" in readJob('{"job_id":"j","queue":"q","state":"done"}')).toBe(false);
});
