import { CallError } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Module } from "../kernel/module.ts";
import {
  bindTrigger,
  type InMemoryEngine,
  type InMemoryWorker,
  inMemoryEngine,
  type ManualClock,
  manualClock,
} from "../testing/index.ts";
import { cron } from "./cron/index.ts";
import { queue } from "./queue/index.ts";
import { state } from "./state/index.ts";
import { stream } from "./stream/index.ts";

const memory = { adapter: { name: "in_memory" } };
let clock: ManualClock;
let engine: InMemoryEngine;
let worker: InMemoryWorker;
let calls = 0;

beforeEach(async () => {
  clock = manualClock(Date.UTC(2025, 11, 31, 23, 59, 50));
  calls = 0;
  engine = await inMemoryEngine({
    modules: [cron, queue, state, stream] as unknown as readonly Module[],
    config: { "svc-cron": {}, "svc-queue": memory, "svc-state": memory, "svc-stream": memory },
    clock,
  });
  worker = await engine.connectWorker({ name: "w" });
});
afterEach(() => engine.stop());

/** Moves the clock on until the handler was called `count` times, then by ten minutes more, in which it must not be called again. */
async function callsEndAfter(count: number): Promise<void> {
  await expect
    .poll(() => {
      if (calls < count) clock.advance(1_000);
      return calls;
    })
    .toBe(count);
  for (let minute = 0; minute < 10; minute++) {
    clock.advance(60_000);
    await engine.call("queue::stats", { queue: "default" });
    await engine.call("state::get", { scope: "s", key: "k" });
  }
  expect(calls).toBe(count);
}

// A call of the handler's own failed in this way, and the handler does not catch its error.
describe.each([
  ["worker_overloaded", "every worker that provides other has a full outbound buffer"],
  ["draining", "every worker that provides other is shutting down"],
  ["invocation_stopped", "Invocation stopped"],
  ["function_not_found", "Function handler not found"],
])("a handler that fails with the %s of a call of its own", (code, message) => {
  beforeEach(() => {
    worker.serve("handler", () => {
      calls++;
      throw new CallError(code, message);
    });
  });

  it("ends as a dead job after the maximum of a queue", async () => {
    await engine.call("queue::enqueue", { queue: "default", function_id: "handler", data: 1, max_attempts: 3 });
    await callsEndAfter(3);
    expect(await engine.call("queue::stats", { queue: "default" })).toMatchObject({ dead: 1 });
  });

  it("is given up after the maximum of a state trigger, which the log says", async () => {
    await bindTrigger(worker, "state", "handler", { scope: "s", max_attempts: 3 });
    await engine.call("state::set", { scope: "s", key: "k", value: 1 });
    await callsEndAfter(3);
    expect(engine.logs).toContainEqual(
      expect.objectContaining({
        level: "error",
        fields: expect.objectContaining({ functionId: "handler", attempts: 3, code }),
      }),
    );
  });

  it("is called once by a stream trigger", async () => {
    await bindTrigger(worker, "stream", "handler", { stream_name: "s" });
    await engine.call("stream::set", { stream_name: "s", group_id: "g", item_id: "i", data: 1 });
    await callsEndAfter(1);
  });

  it("is called once for each tick by a cron trigger", async () => {
    await bindTrigger(worker, "cron", "handler", { expression: "0 0 0 1 1 *" });
    await callsEndAfter(1);
  });

  it("ends after the maximum of a durable subscriber", async () => {
    await bindTrigger(worker, "durable:subscriber", "handler", { topic: "t", queueConfig: { maxRetries: 2 } });
    await engine.call("svc::durable::publish", { topic: "t", data: 1 });
    await callsEndAfter(3);
  });
});

describe("a delivery whose only worker holds as many calls as it may", () => {
  const MAX_ATTEMPTS = 2;
  let release: () => void;

  beforeEach(async () => {
    await engine.stop();
    engine = await inMemoryEngine({
      modules: [queue, state] as unknown as readonly Module[],
      config: { "svc-queue": memory, "svc-state": memory },
      clock,
      limits: { maxCallsHeld: 1 },
    });
    worker = await engine.connectWorker({ name: "w" });
    worker.serve("handler", () => void calls++);
    const isHeld = new Promise<void>((resolve) => {
      worker.serve("hold", () => {
        resolve();
        return new Promise<void>((free) => {
          release = free;
        });
      });
    });
    // The engine reads the registration before this call, as both come from the same worker.
    worker.call("hold", {}, { timeout_ms: 3_600_000 }).catch(() => undefined);
    await isHeld;
  });

  it.each([
    [
      "a job of a queue",
      async () => {
        await engine.call("queue::enqueue", {
          queue: "default",
          function_id: "handler",
          data: 1,
          max_attempts: MAX_ATTEMPTS,
        });
      },
    ],
    [
      "a change for a state trigger",
      async () => {
        // Another worker binds it: the one that is full answers nothing but calls.
        await bindTrigger(await engine.connectWorker(), "state", "handler", { scope: "s", max_attempts: MAX_ATTEMPTS });
        await engine.call("state::set", { scope: "s", key: "k", value: 1 });
      },
    ],
  ])("is tried again without using up an attempt: %s", async (_what, deliver) => {
    await deliver();
    const before = engine.kernel.router.counts.calls;
    await expect
      .poll(() => {
        clock.advance(30_000);
        return engine.kernel.router.counts.calls - before;
      })
      .toBeGreaterThan(2 * MAX_ATTEMPTS);
    expect(calls).toBe(0);
    release();
    await callsEndAfter(1);
    expect(await engine.call("queue::stats", { queue: "default" })).toMatchObject({ dead: 0 });
    expect(engine.logs.filter(({ level }) => level === "error")).toEqual([]);
  });
});
