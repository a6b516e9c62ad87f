import { afterEach, expect, it } from "vitest";
import type { QueueStore } from "./store/queue-store.ts";
import { type QueueEngine, queueEngine } from "./testing/queue-engine.ts";

let running: QueueEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

it("a job whose handler fails while it is being cancelled is not tried again (gap 9)", async () => {
  const held = new Map<string, () => void>();
  let holds = true;
  // Both results arrive at once, as with a disk.
  const around = (store: QueueStore): QueueStore => ({
    ...store,
    async call(name, input, options) {
      if (holds && name === "retry") await new Promise<void>((resolve) => held.set(name, resolve));
      const answer = await store.call(name, input, options);
      if (holds && name === "cancel") await new Promise<void>((resolve) => held.set(name, resolve));
      return answer;
    },
  });
  running = await queueEngine({ q: { max_attempts: 5, backoff_ms: 1_000 } }, { around });
  const { engine, core, add, until } = running;
  const worker = await engine.connectWorker();
  let fail: (() => void) | undefined;
  worker.serve(
    "work",
    () =>
      new Promise((_, reject) => {
        fail = () => reject(new Error("no"));
      }),
  );
  const id = await add("work", 1, { queue: "q" });
  await until("it runs", () => fail !== undefined);
  const cancelled = core.cancel(id);
  await until("the store has said that it runs", () => held.has("cancel"));
  fail?.();
  await until("its failure is on the way to the store", () => held.has("retry"));
  holds = false;
  held.get("cancel")?.();
  await new Promise((resolve) => setImmediate(resolve));
  held.get("retry")?.();
  await cancelled;
  expect(await core.counts("q")).toMatchObject({ waiting: 0, delayed: 0, active: 0, cancelled: 1 });
});
