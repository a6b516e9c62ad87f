import { afterEach, describe, expect, it } from "vitest";
import { openMemoryStore } from "./memory-store.ts";
import type { QueueStore } from "./queue-store.ts";
import type { BacklogBounds } from "./topic.ts";

const wide: BacklogBounds = { messages: 100, bytes: 1_000, allMessages: 100, allBytes: 1_000, ageMs: 1_000 };
const unlimited = { maxDepth: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER, maxDead: Number.MAX_SAFE_INTEGER };

let store: QueueStore;
afterEach(() => store.close());

async function keep(topic: string, data: number, now: number, bounds: Partial<BacklogBounds> = {}) {
  const message = { id: `${topic}${data}`, topic, data: String(data), bytes: 10, traceparent: undefined, baggage: undefined };
  return store.call("keep", { message, now, bounds: { ...wide, ...bounds } });
}

/** What the first subscription of the topic gets. */
async function taken(topic: string, now: number): Promise<string[]> {
  const job = { queue: topic, functionId: undefined, priority: 0, maxAttempts: 1, dedupeWindowMs: 0, limits: unlimited };
  await store.call("subscribe", { topic, functionId: "f", config: "{}", now, ageMs: wide.ageMs, job });
  const jobs = await store.call("peek", { queue: topic, state: "waiting", limit: 1_000, maxBytes: 1_000_000 });
  return jobs.map(({ data }) => data);
}

describe("messages that nobody subscribed to", () => {
  it("are kept up to the topic's bounds, the latest of them (gap 1)", async () => {
    store = openMemoryStore();
    for (let n = 1; n <= 5; n++) await keep("a", n, n, { messages: 3 });
    expect(await keep("b", 1, 6, { bytes: 20 })).toEqual({ old: 0, dropped: 0 });
    await keep("b", 2, 6, { bytes: 20 });
    expect(await keep("b", 3, 6, { bytes: 20 })).toEqual({ old: 0, dropped: 1 });
    expect(await store.call("backlogs", null)).toEqual([
      { topic: "a", messages: 3, bytes: 30 },
      { topic: "b", messages: 2, bytes: 20 },
    ]);
    expect([await taken("a", 7), await taken("b", 7)]).toEqual([
      ["3", "4", "5"],
      ["2", "3"],
    ]);
    expect(await store.call("backlogs", null)).toEqual([]);
  });

  it("are bounded together, and the oldest of all go first", async () => {
    store = openMemoryStore();
    for (const [topic, n] of [
      ["a", 1],
      ["b", 1],
      ["c", 1],
    ] as const)
      await keep(topic, n, 1, { allMessages: 2 });
    expect((await store.call("backlogs", null)).map(({ topic }) => topic)).toEqual(["b", "c"]);
  });

  it("are dropped after their time, when the next one comes, somebody subscribes or it is asked for", async () => {
    store = openMemoryStore();
    await keep("a", 1, 0);
    expect(await keep("b", 2, 1_000)).toEqual({ old: 1, dropped: 0 });
    expect(await taken("b", 2_000)).toEqual([]);
    await keep("c", 3, 2_000);
    expect([await store.call("dropOld", { before: 1_999 }), await store.call("dropOld", { before: 2_000 })]).toEqual([0, 1]);
  });
});
