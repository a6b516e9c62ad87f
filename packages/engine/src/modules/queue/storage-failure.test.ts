import { CallError } from "@svc-runtime/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { QueueStore } from "./store/queue-store.ts";
import { type QueueEngine, queueEngine } from "./testing/queue-engine.ts";

let running: QueueEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

/** A store whose disk fails while `isBroken`. Calls that fail had no effect. */
async function startOnFailingDisk() {
  const disk = { isBroken: false, refused: 0 };
  const around = (store: QueueStore): QueueStore => ({
    ...store,
    call(name, input, options) {
      if (!disk.isBroken || name === "countsOf") return store.call(name, input, options);
      disk.refused += 1;
      return Promise.reject(new CallError("storage_failed", "database or disk is full"));
    },
    problem: () => (disk.isBroken ? "database or disk is full" : undefined),
  });
  running = await queueEngine({}, { around });
  return { ...running, disk };
}

describe("queues on a disk that fails", () => {
  it("refuse what is put on them, go on by themselves when it works again, and run what was in hand once (Q-9)", async () => {
    const { engine, core, clock, add, until, disk } = await startOnFailingDisk();
    const worker = await engine.connectWorker();
    const finish: (() => void)[] = [];
    worker.serve("work", () => new Promise<void>((resolve) => finish.push(resolve)));
    await add("work", 1);
    await until("it runs", () => finish.length === 1);
    disk.isBroken = true;
    await expect(add("work", 2)).rejects.toMatchObject({ code: "storage_failed" });
    const before = disk.refused;
    finish[0]?.();
    await until("its end could not be recorded", () => disk.refused > before);
    expect(await core.counts("default")).toMatchObject({ active: 1 });
    disk.isBroken = false;
    clock.advance(1_000);
    await until("its end is recorded", async () => (await core.counts("default")).done === 1);
    await add("work", 3);
    await until("the next one runs", () => finish.length === 2);
    finish[1]?.();
    await until("it is done", async () => (await core.counts("default")).done === 2);
    expect(finish).toHaveLength(2);
  });

  it("try at once to record the end of a job that is cancelled meanwhile", async () => {
    const { engine, core, add, until, disk } = await startOnFailingDisk();
    const worker = await engine.connectWorker();
    let finish: (() => void) | undefined;
    worker.serve(
      "work",
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    const id = await add("work", 1);
    await until("it runs", () => finish !== undefined);
    disk.isBroken = true;
    finish?.();
    await until("its end could not be recorded", () => disk.refused > 0);
    disk.isBroken = false;
    // The manual clock stands still, so the pause before the next try would not end by itself.
    await core.cancel(id);
    expect(await core.counts("default")).toMatchObject({ active: 0, done: 1 });
  });

  it("take what waits when the disk works again, without being asked", async () => {
    const { engine, core, clock, add, until, disk } = await startOnFailingDisk();
    await core.pause("default");
    await add("work", 1);
    const worker = await engine.connectWorker();
    worker.serve("work", () => null);
    await core.resume("default");
    disk.isBroken = true;
    await until("it cannot be taken", () => disk.refused > 0);
    disk.isBroken = false;
    clock.advance(1_000);
    await until("it is done", async () => (await core.counts("default")).done === 1);
  });
});
