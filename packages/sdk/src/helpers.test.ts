import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeEngine } from "./fake-engine.test.support.ts";
import { silentLogger } from "./logger.ts";
import { connect } from "./node.ts";
import { CronCalls, QueueCalls } from "./queue-and-cron.ts";
import type { Worker } from "./worker.ts";

const answers: Readonly<Record<string, unknown>> = {
  "event::emit": { delivered_to: 3 },
  "event::list": { topics: [{ topic: "t" }] },
  "cron::list": { triggers: [{ trigger_id: "x" }], cursor: null, total: 1 },
  "cron::history": { runs: [{ outcome: "ok" }] },
  "cron::trigger_now": { outcome: "enqueued" },
  "queue::enqueue": { job_id: "j", duplicate: false },
  "queue::enqueue_many": { jobs: [{ job_id: "j", duplicate: true }] },
  "queue::list": { queues: [{ queue: "q" }] },
  "queue::peek": { jobs: [], cursor: null },
  "queue::purge": { purged: 4 },
  "queue::redrive": { redriven: 2 },
  "queue::discard": { discarded: 1 },
};

let engine: FakeEngine;
let worker: Worker;
let asked: unknown[];

beforeEach(async () => {
  asked = [];
  engine = await FakeEngine.start();
  engine.reply = ({ type, invocation_id, function_id, data }) => {
    if (type !== "invokefunction" || invocation_id === undefined) return undefined;
    asked.push([function_id, data]);
    return { type: "invocationresult", invocation_id, function_id, result: answers[String(function_id)] ?? null };
  };
  worker = connect(engine.address, { logger: silentLogger, handleSignals: false });
  await worker.connected();
});

afterEach(async () => {
  await worker.shutdown({ timeoutMs: 1 });
  await engine.stop();
});

it("worker.event calls the functions of the same names with the wire's members", async () => {
  expect(await worker.event.emit("t", { a: 1 })).toBe(3);
  expect(await worker.event.emit("t")).toBe(3);
  expect(await worker.event.publish("t", [1])).toBeUndefined();
  expect(await worker.event.list()).toEqual([{ topic: "t" }]);
  expect(asked).toEqual([
    ["event::emit", { event: "t", data: { a: 1 } }],
    ["event::emit", { event: "t", data: null }],
    ["publish", { topic: "t", data: [1] }],
    ["event::list", {}],
  ]);
});

it("worker.cron calls the functions of the same names with the wire's members", async () => {
  expect(await worker.cron.list()).toEqual([{ triggerId: "x" }]);
  expect(await worker.cron.history("x", { limit: 2 })).toEqual([{ outcome: "ok" }]);
  expect(await worker.cron.triggerNow("x")).toEqual({ outcome: "enqueued" });
  await worker.cron.pause("x");
  await worker.cron.resume("x");
  const trigger = { trigger_id: "x" };
  expect(asked).toEqual([
    ["cron::list", {}],
    ["cron::history", { ...trigger, limit: 2 }],
    ["cron::trigger_now", trigger],
    ["cron::pause", trigger],
    ["cron::resume", trigger],
  ]);
});

it("worker.cron.list requests all pages", async () => {
  engine.reply = ({ type, invocation_id, function_id, data }) => {
    if (type !== "invokefunction" || invocation_id === undefined) return undefined;
    const isLast = (data as { cursor?: string }).cursor === "2";
    return {
      type: "invocationresult",
      invocation_id,
      function_id,
      result: { triggers: [{ trigger_id: isLast ? "b" : "a" }], cursor: isLast ? null : "2" },
    };
  };
  expect(await worker.cron.list()).toEqual([{ triggerId: "a" }, { triggerId: "b" }]);
});

it("runAt is a Date or RFC 3339, anything else rejects with TypeError", async () => {
  const { queue } = worker;
  await queue.enqueue("q", "f", 1, { runAt: "2026-03-01T09:00:00+01:00" });
  expect(asked).toEqual([
    ["queue::enqueue", { queue: "q", function_id: "f", run_at: "2026-03-01T09:00:00+01:00", data: 1 }],
  ]);
  const message = "runAt must be a Date or an RFC 3339 string such as 2026-03-01T09:00:00Z; it is";
  for (const [runAt, shown] of [
    ["tomorrow", "'tomorrow'"],
    [new Date(Number.NaN), "Invalid Date"],
    ["2026-13-01T09:00:00Z", "'2026-13-01T09:00:00Z'"],
  ] as const) {
    await expect(queue.enqueue("q", "f", 1, { runAt })).rejects.toThrow(new TypeError(`${message} ${shown}`));
    await expect(queue.enqueueMany([{ queue: "q", functionId: "f", data: 1, runAt }])).rejects.toThrow(TypeError);
  }
});

it("worker.queue calls the functions of the same names with the wire's members", async () => {
  const { queue } = worker;
  const options = {
    delayMs: 1,
    runAt: new Date(0),
    priority: 2,
    dedupeKey: "k",
    expiresInMs: 3,
    group: "g",
    maxAttempts: 4,
  };
  const wire = {
    delay_ms: 1,
    run_at: "1970-01-01T00:00:00.000Z",
    priority: 2,
    dedupe_key: "k",
    expires_in_ms: 3,
    group: "g",
    max_attempts: 4,
  };
  expect(await queue.enqueue("q", "f", { a: 1 }, { ...options, timeoutMs: 1_000 })).toEqual({
    jobId: "j",
    duplicate: false,
  });
  await queue.enqueue("q", "f");
  await queue.enqueue("q", null, 2);
  expect(await queue.enqueueMany([{ queue: "q", functionId: "f", data: 1, ...options }])).toEqual([
    { jobId: "j", duplicate: true },
  ]);
  await queue.publish("t", 1);
  expect(await queue.list()).toEqual([{ queue: "q" }]);
  await queue.stats("q");
  await queue.peek("q", { state: "dead", cursor: "c", limit: 5 });
  await queue.getJob("j");
  await queue.pause("q");
  await queue.resume("q");
  expect(await queue.purge("q")).toBe(4);
  await queue.cancel("j");
  expect(await queue.redrive("q")).toBe(2);
  expect(await queue.redrive("q", { jobIds: ["j"], payload: { a: 2 } })).toBe(2);
  expect(await queue.discard("q", ["j"])).toBe(1);
  expect(asked).toEqual([
    ["queue::enqueue", { queue: "q", function_id: "f", ...wire, data: { a: 1 } }],
    ["queue::enqueue", { queue: "q", function_id: "f", data: null }],
    ["queue::enqueue", { queue: "q", data: 2 }],
    ["queue::enqueue_many", { jobs: [{ queue: "q", function_id: "f", ...wire, data: 1 }] }],
    ["svc::durable::publish", { topic: "t", data: 1 }],
    ["queue::list", {}],
    ["queue::stats", { queue: "q" }],
    ["queue::peek", { queue: "q", state: "dead", cursor: "c", limit: 5 }],
    ["queue::get_job", { job_id: "j" }],
    ["queue::pause", { queue: "q" }],
    ["queue::resume", { queue: "q" }],
    ["queue::purge", { queue: "q" }],
    ["queue::cancel", { job_id: "j" }],
    ["queue::redrive", { queue: "q" }],
    ["queue::redrive", { queue: "q", job_ids: ["j"], payload: { a: 2 } }],
    ["queue::discard", { queue: "q", job_ids: ["j"] }],
  ]);
});

it("worker.queue and worker.cron have the methods of the part that they load", () => {
  for (const [helper, part] of [
    [worker.queue, QueueCalls.prototype],
    [worker.cron, CronCalls.prototype],
  ] as const) {
    const methods = [...Object.getOwnPropertyNames(part), ...Object.keys(Object.getPrototypeOf(part) as object)];
    expect(Object.keys(helper).sort()).toEqual(methods.filter((name) => name !== "constructor").sort());
  }
});
