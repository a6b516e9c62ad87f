import { Payload } from "@svc-runtime/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { QueueStore } from "./store/queue-store.ts";
import { type QueueEngine, queueEngine } from "./testing/queue-engine.ts";

let running: QueueEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

async function startCounting() {
  const counts = { takes: 0 };
  const around = (store: QueueStore): QueueStore => ({
    ...store,
    call(name, input, options) {
      if (name === "take") counts.takes += 1;
      return store.call(name, input, options);
    },
  });
  // Each take looks at every function, so many slots save takes.
  running = await queueEngine({ default: { concurrency: 200 } }, { around });
  return { ...running, counts };
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe("jobs of more functions than may be parked, none of which is there", () => {
  it("are not tried again and again while nothing happens, and jobs of others go on", async () => {
    const { engine, core, add, until, counts } = await startCounting();
    await core.add(
      Array.from({ length: 1_100 }, (_, n) => ({ queue: "default", functionId: `missing::${n}`, data: Payload.null })),
    );
    let before = -1;
    await until("all is tried", async () => {
      if (counts.takes === before) return true;
      before = counts.takes;
      await turns(20);
      return false;
    });
    await turns(200);
    expect(counts.takes).toBe(before);
    const worker = await engine.connectWorker();
    worker.serve("work", () => null);
    await add("work", 1);
    await until("it is done", async () => (await core.counts("default")).done === 1);
    worker.serve("missing::7", () => null);
    await until("that one is done too", async () => (await core.counts("default")).done === 2);
    worker.serve("missing::1099", () => null);
    await until("and that one", async () => (await core.counts("default")).done === 3);
  });
});

describe("a handler that fails with the code of a call that it made itself", () => {
  it.each(["worker_overloaded", "draining"] as const)(
    "had its chance, whatever %s says of that call: the attempt counts (Q-4)",
    async (code) => {
      running = await queueEngine({ q: { max_attempts: 2, backoff_ms: 0 } });
      const { engine, core, clock, add, until } = running;
      const worker = await engine.connectWorker();
      let tries = 0;
      worker.say({ type: "registerfunction", id: "work" });
      const serve = async (): Promise<void> => {
        for (;;) {
          const { invocation_id, function_id } = await worker.next((frame) => frame.type === "invokefunction");
          tries += 1;
          const error = { code, message: "every worker that provides other has a full outbound buffer" };
          worker.say({ type: "invocationresult", invocation_id, function_id, error });
        }
      };
      // Fails when the connection closes.
      serve().catch(() => {});
      await until("it is there", () => engine.directory.functionById("work") !== undefined);
      await add("work", 1, { queue: "q" });
      await until("it is dead", async () => {
        clock.advance(1_000);
        return (await core.counts("q")).dead === 1;
      });
      expect(tries).toBe(2);
    },
  );
});
