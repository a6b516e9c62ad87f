import { afterEach, expect, it } from "vitest";
import { MemoryLog } from "../../cluster/testing/memory-log.ts";
import { decodeEntry, decodeRequests } from "../../store/replicated/entry.ts";
import { openReplicatedStore } from "../../store/replicated/open-replicated-store.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { type QueueEngine, queueEngine } from "./testing/queue-engine.ts";

let running: QueueEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

/** Returns the procedures of each entry of the log. */
function proceduresIn(log: MemoryLog): readonly (readonly string[])[] {
  return Array.from({ length: log.state().last }, (_, index) => {
    const entry = log.at(index + 1);
    if (entry === undefined) throw new Error(`the log has no entry ${index + 1}`);
    return decodeRequests(decodeEntry(entry.bytes).body).map(({ procedure }) => procedure);
  });
}

it("an engine of a cluster appends no take while its replica has no job for it", async () => {
  const log = new MemoryLog();
  const clock = manualClock();
  running = await queueEngine(
    { default: {} },
    {
      clock,
      openStore: ({ procedures }) =>
        openReplicatedStore({ log: log.connect(), node: "a", file: undefined, procedures, clock }),
    },
  );
  const { engine, core, add, until } = running;
  const worker = await engine.connectWorker();
  worker.serve("work", () => null);
  const done = async (count: number): Promise<boolean> => (await core.counts("default")).done === count;
  await add("work", 1, { delayMs: 1_000 });
  for (let wakes = 0; wakes < 3; wakes += 1) {
    core.wake("default");
    // The runner looks for jobs at the end of the turn, and this read is appended after what it writes.
    await new Promise((resolve) => setImmediate(resolve));
    await core.counts("default");
  }
  expect(proceduresIn(log).flat()).not.toContain("take");

  await add("work", 2);
  await until("the job that could run was done", () => done(1));
  expect(proceduresIn(log).flat()).toContain("addAndTake");
  expect(proceduresIn(log).flat()).not.toContain("take");

  clock.advance(1_000);
  await until("the delayed job was done", () => done(2));
  expect(
    proceduresIn(log)
      .flat()
      .filter((name) => name === "take"),
  ).toHaveLength(1);
});
