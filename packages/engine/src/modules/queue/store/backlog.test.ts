import { afterEach, describe, expect, it } from "vitest";
import { openDatabase } from "../../../store/driver.ts";
import { openStore } from "../../../store/open-store.ts";
import { type ManualClock, manualClock } from "../../../testing/manual-clock.ts";
import { openBacklog } from "./backlog.ts";
import { openQueueStore } from "./open-queue-store.ts";
import type { QueueStore } from "./queue-store.ts";
import { schema } from "./schema.ts";
import type { BacklogBounds } from "./topic.ts";

const wide: BacklogBounds = { messages: 100, bytes: 1_000, allMessages: 100, allBytes: 1_000, ageMs: 1_000 };
const unlimited = {
  maxDepth: Number.MAX_SAFE_INTEGER,
  maxBytes: Number.MAX_SAFE_INTEGER,
  maxDead: Number.MAX_SAFE_INTEGER,
};

let store: QueueStore;
let clock: ManualClock;

function inMemory(): Promise<QueueStore> {
  clock = manualClock(0);
  return openQueueStore(
    { name: "in_memory" },
    { dataDir: "", openStore: (options) => openStore({ ...options, clock }) },
  );
}

/** Advances the clock to a time, in milliseconds. */
function setTime(now: number): void {
  clock.advance(now - clock.now());
}

afterEach(() => store.close());

async function keep(topic: string, data: number, now: number, bounds: Partial<BacklogBounds> = {}, principal?: string) {
  const maker = principal === undefined ? undefined : { principal, role: undefined };
  const message = {
    id: `${topic}${data}`,
    topic,
    data: String(data),
    bytes: 10,
    maker,
    traceparent: undefined,
    baggage: undefined,
  };
  setTime(now);
  return store.call("addToBacklog", { message, bounds: { ...wide, ...bounds } });
}

/** Returns what the first subscription of the topic gets. */
async function taken(topic: string, now: number): Promise<string[]> {
  const job = {
    queue: topic,
    functionId: undefined,
    priority: 0,
    maxAttempts: 1,
    dedupeWindowMs: 0,
    limits: unlimited,
  };
  setTime(now);
  await store.call("subscribe", { topic, functionId: "f", config: "{}", owner: "", ageMs: wide.ageMs, job });
  const jobs = await store.call("peek", { queue: topic, state: "waiting", limit: 1_000, maxBytes: 1_000_000 });
  return jobs.map(({ data = "" }) => data);
}

describe("messages that nobody subscribed to", () => {
  it("are kept up to the topic's bounds, the latest of them (gap 1)", async () => {
    store = await inMemory();
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
    store = await inMemory();
    for (const [topic, n] of [
      ["a", 1],
      ["b", 1],
      ["c", 1],
    ] as const)
      await keep(topic, n, 1, { allMessages: 2 });
    expect((await store.call("backlogs", null)).map(({ topic }) => topic)).toEqual(["b", "c"]);
  });

  it("are a restricted principal's up to an eighth of a bound, and displace none of trusted callers", async () => {
    store = await inMemory();
    for (let n = 1; n <= 15; n++) await keep("a", n, 1, { messages: 16 });
    for (let n = 16; n <= 40; n++) await keep("a", n, 1, { messages: 16 }, "role guest");
    expect(await store.call("backlogs", null)).toEqual([{ topic: "a", messages: 16, bytes: 160 }]);
    // All topics together are bounded as well.
    for (let n = 1; n <= 5; n++) await keep(`b${n}`, n, 1, { allMessages: 32 }, "role guest");
    for (let n = 1; n <= 20; n++) await keep("c", n, 1, { allMessages: 32 }, `role ${n}`);
    const counts = await store.call("backlogs", null);
    expect(counts.reduce((sum, { messages }) => sum + messages, 0)).toBe(15 + 16);
    const own = Array.from({ length: 15 }, (_, index) => String(index + 1));
    expect((await taken("a", 2)).slice(0, 15)).toEqual(own);
    // A trusted caller's message displaces theirs.
    for (let n = 1; n <= 3; n++) await keep("c", 100 + n, 1, { messages: 3 });
    expect(await taken("c", 2)).toEqual(["101", "102", "103"]);
  });

  it("are dropped after their time, when the next one comes, somebody subscribes or it is asked for", async () => {
    store = await inMemory();
    await keep("a", 1, 0);
    expect(await keep("b", 2, 1_000)).toEqual({ old: 1, dropped: 0 });
    expect(await taken("b", 2_000)).toEqual([]);
    await keep("c", 3, 2_000);
    setTime(2_500);
    expect([await store.call("dropOld", { ageMs: 501 }), await store.call("dropOld", { ageMs: 500 })]).toEqual([0, 1]);
  });
});

it("the oldest message of restricted principals is found by an index that holds no others", () => {
  const database = openDatabase(":memory:");
  database.exec(schema.join(";\n"));
  const statements: string[] = [];
  openBacklog({
    ...database,
    prepare(sql) {
      statements.push(sql);
      return database.prepare(sql);
    },
  });
  const ofRestricted = statements.filter((sql) => sql.includes("FROM backlog ") && sql.includes("principal <> ''"));
  const plans = ofRestricted.map((sql) => {
    const parameters = Array.from(sql.matchAll(/\?/g), () => "x");
    return database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...parameters)
      .map(({ detail }) => detail);
  });
  database.close();
  expect(plans.sort()).toEqual([
    // In the order of the index; one entry is read.
    ["SCAN backlog USING INDEX restricted_backlog"],
    ["SEARCH backlog USING INDEX restricted_backlog_of_principal (principal=?)"],
    ["SEARCH backlog USING INDEX restricted_backlog_of_principal_in_topic (principal=? AND topic=?)"],
    ["SEARCH backlog USING INDEX restricted_backlog_of_topic (topic=?)"],
  ]);
});
