import { afterEach, describe, expect, it } from "vitest";
import { queue } from "./index.ts";
import { type ModuleEngine, moduleEngine } from "./testing/module-engine.ts";

let running: ModuleEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

/** A queue whose config changes while a handler runs one of its jobs. */
async function reconfiguredWithAJobInHand(second?: unknown) {
  running = await moduleEngine({ queues: { q: { max_retries: 3, backoff_ms: 1_000 } } });
  const { engine, call, until } = running;
  const worker = await engine.connectWorker();
  const calls: { readonly data: unknown; settle(error?: Error): void }[] = [];
  worker.serve(
    "work",
    (data) =>
      new Promise((resolve, reject) =>
        calls.push({ data, settle: (error) => (error === undefined ? resolve(null) : reject(error)) }),
      ),
  );
  await call("queue::enqueue", { queue: "q", function_id: "work", data: 1, group: "g" });
  await until("it runs", () => calls.length === 1);
  if (second !== undefined) await call("queue::enqueue", { queue: "q", function_id: "work", data: second, group: "g" });
  const config = {
    adapter: { name: "in_memory" },
    queue_configs: { q: { max_retries: 3, backoff_ms: 1_000, concurrency: 20 } },
  };
  expect(await engine.applyModules([{ name: queue.name, config }])).toEqual([]);
  worker.serve("marker", () => null);
  await call("queue::enqueue", { queue: "q", function_id: "marker" });
  await until("the queue goes by its new config", async () => (await call("queue::stats", { queue: "q" })).done === 1);
  return { ...running, calls };
}

describe("a queue that is configured anew while one of its jobs runs", () => {
  it("tries the job again when it fails, without waiting for another job to come", async () => {
    const { calls, clock, call, until } = await reconfiguredWithAJobInHand();
    calls[0]?.settle(new Error("no"));
    await until("it waits", async () => (await call("queue::stats", { queue: "q" })).delayed === 1);
    await until("it runs again", () => {
      clock.advance(100);
      return calls.length === 2;
    });
    calls[1]?.settle();
    await until("it is done", async () => (await call("queue::stats", { queue: "q" })).done === 2);
  });

  it("goes on with the next job of its group when it is done", async () => {
    const { calls, until } = await reconfiguredWithAJobInHand(2);
    calls[0]?.settle();
    await until("the next one runs", () => calls.length === 2);
    expect(calls[1]?.data).toBe(2);
    calls[1]?.settle();
  });
});
