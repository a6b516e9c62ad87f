import { afterEach, describe, expect, it } from "vitest";
import { type ModuleEngine, moduleEngine } from "../testing/module-engine.ts";

let running: ModuleEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

async function start(queues: Readonly<Record<string, unknown>> = {}): Promise<ModuleEngine> {
  running = await moduleEngine({ queues });
  return running;
}

describe("queue::redrive with a payload", () => {
  it("refuses data that the queue would not take as a job, and what would exceed the queue's bytes; nothing is changed then (gap 12)", async () => {
    const { engine, call, until } = await start({ q: { max_attempts: 1, max_job_bytes: 100, max_bytes: 200 } });
    const worker = await engine.connectWorker();
    worker.serve("work", () => {
      throw new Error("no");
    });
    await call("queue::enqueue_many", { jobs: [1, 2, 3].map((data) => ({ queue: "q", function_id: "work", data })) });
    await until("they are dead", async () => (await call("queue::stats", { queue: "q" })).dead === 3);
    await expect(call("queue::redrive", { queue: "q", payload: "x".repeat(200) })).rejects.toMatchObject({
      code: "payload_too_large",
    });
    await expect(call("queue::redrive", { queue: "q", payload: "x".repeat(90) })).rejects.toMatchObject({
      code: "queue_full",
    });
    expect(await call("queue::stats", { queue: "q" })).toMatchObject({ dead: 3, waiting: 0, bytes: 3 });
  });
});

describe("a page of dead letters", () => {
  it("is bounded with all that is told of their attempts, and goes on where it ended (X-8)", async () => {
    const { engine, clock, call, until } = await start({ q: { max_attempts: 20, backoff_ms: 0, concurrency: 100 } });
    const worker = await engine.connectWorker();
    worker.serve("work", () => {
      throw new Error("n".repeat(4_096));
    });
    await call("queue::enqueue_many", {
      jobs: Array.from({ length: 200 }, (_, data) => ({ queue: "q", function_id: "work", data })),
    });
    await until("they are dead", async () => {
      clock.advance(1);
      return (await call("queue::stats", { queue: "q" })).dead === 200;
    });
    const seen: unknown[] = [];
    let pages = 0;
    for (let cursor: string | null = null, on = true; on; on = cursor !== null) {
      const page: { jobs: { data: unknown }[]; cursor: string | null } = await call("queue::peek", {
        queue: "q",
        state: "dead",
        limit: 1_000,
        cursor,
      });
      expect(JSON.stringify(page).length).toBeLessThan(12 * 1024 * 1024);
      seen.push(...page.jobs.map(({ data }) => data));
      cursor = page.cursor;
      pages += 1;
    }
    expect(pages).toBeGreaterThan(1);
    expect(new Set(seen).size).toBe(200);
    expect(JSON.stringify(await call("engine::queue::dlq_messages", { topic: "q", limit: 1_000 })).length).toBeLessThan(
      12 * 1024 * 1024,
    );
  });
});

describe("engine::queue::enqueue", () => {
  it("takes no trace or baggage that is none: the function would get it as the engine's word (K3)", async () => {
    const { engine, call, until } = await start();
    const worker = await engine.connectWorker();
    const seen: Record<string, unknown>[] = [];
    worker.serve("work", (_, frame) => seen.push(frame));
    await call("engine::queue::enqueue", {
      queue: "default",
      function_id: "work",
      data: 1,
      traceparent: "x".repeat(1_000),
      baggage: "b".repeat(100_000),
    });
    await until("it ran", () => seen.length === 1);
    expect(seen[0]?.traceparent ?? "").not.toContain("xxx");
    expect(seen[0]?.baggage ?? null).toBeNull();
  });

  it.each(["a\u0000b", "a\ud800b", "a b"])(
    "refuses %j as the id of a job: it could not be found by it",
    async (messageReceiptId) => {
      const { call } = await start();
      await expect(
        call("engine::queue::enqueue", { queue: "default", function_id: "work", messageReceiptId }),
      ).rejects.toMatchObject({ code: "invalid_input" });
      expect(await call("queue::stats", { queue: "default" })).toMatchObject({ added: 0 });
    },
  );
});
