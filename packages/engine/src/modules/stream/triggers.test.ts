import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  accessTo,
  bindTrigger,
  Collected,
  type InMemoryEngine,
  inMemoryEngine,
  type ManualClock,
  manualClock,
} from "../../testing/index.ts";
import { stream } from "./index.ts";
import { type SeenEvent, watchStreams } from "./testing/watcher.ts";
import { expectEventsInOrder } from "./testing/writers.ts";

let clock: ManualClock;
let engine: InMemoryEngine;

beforeEach(async () => {
  clock = manualClock(Date.UTC(2026, 0, 1));
  engine = await inMemoryEngine({
    modules: [stream],
    config: { "svc-stream": { adapter: { name: "in_memory" } } },
    clock,
  });
});
afterEach(() => engine.stop());

const set = (item_id: string, data: unknown, group_id = "g", stream_name = "s"): Promise<unknown> =>
  engine.call("stream::set", { stream_name, group_id, item_id, data });

const triggerOf = (functionId: string) =>
  engine.directory.triggers().find(({ function_id }) => function_id === functionId);

describe("a trigger of type stream", () => {
  it("hears only what its filters let through", async () => {
    const ofStream = await watchStreams(engine, { stream_name: "s" });
    const ofGroup = await watchStreams(engine, { stream_name: "s", group_id: "g", item_id: null });
    const ofItem = await watchStreams(engine, { stream_name: "s", group_id: "g", item_id: "1" });
    await set("1", "a");
    await set("2", "b");
    await set("1", "c", "other");
    await set("1", "d", "g", "elsewhere");
    await engine.call("stream::send", { stream_name: "s", group_id: "g", type: "bell" });
    await set("1", "end");
    const dataOf = async (seen: Collected<SeenEvent>) =>
      (await seen.until((events) => events.at(-1)?.event.data === "end")).map(({ event }) => event.data ?? event.type);
    expect(await dataOf(ofItem)).toEqual(["a", "end"]);
    expect(await dataOf(ofGroup)).toEqual(["a", "b", "event", "end"]);
    expect((await dataOf(ofStream)).filter((data) => data !== "c")).toEqual(["a", "b", "event", "end"]);
    expect(ofStream.items.map(({ event }) => event.data)).toContain("c");
  });

  it("is asked for with a config that it knows, since a filter that was mistyped would let everything through", async () => {
    const worker = await engine.connectWorker();
    worker.serve("f", () => null);
    await expect(bindTrigger(worker, "stream", "f", { streamname: "s" })).rejects.toThrow(/streamname/);
    await expect(bindTrigger(worker, "stream:join", "f", { item_id: "s" })).rejects.toThrow(/item_id/);
    await expect(bindTrigger(worker, "stream:leave", "f", { stream_name: 1 })).rejects.toThrow(/stream_name/);
  });

  it("skips what its condition answers false for, and is shown as inactive without it", async () => {
    const seen = new Collected<SeenEvent>();
    const worker = await engine.connectWorker();
    worker.serve("f", (data) => seen.add(data as SeenEvent));
    worker.serve("wants", (data) => (data as SeenEvent).event.data !== "no");
    await bindTrigger(worker, "stream", "f", { stream_name: "s", condition_function_id: "wants" });
    for (const data of ["yes", "no", "yes again"]) await set("1", data);
    expect((await seen.count(2)).map(({ event }) => event.data)).toEqual(["yes", "yes again"]);
    worker.say({ type: "unregisterfunction", id: "wants" });
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    expect(triggerOf("f")).toMatchObject({ status: "inactive", reason: expect.stringContaining("wants") });
  });

  it("gets a group's events in order, one at a time, while the writer does not wait and other groups go on", async () => {
    const running = new Collected<SeenEvent>();
    const ends: (() => void)[] = [];
    const worker = await engine.connectWorker();
    worker.serve("slow", (data) => {
      running.add(data as SeenEvent);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
    await bindTrigger(worker, "stream", "slow", {});
    for (let n = 1; n <= 3; n++) await set("1", n);
    await set("1", "other group", "h");
    expect((await running.count(2)).map(({ event }) => event.data)).toEqual([1, "other group"]);
    for (let n = 2; n <= 3; n++) {
      for (const end of ends.splice(0)) end();
      expect((await running.count(n + 1)).at(-1)?.event.data).toBe(n);
    }
    for (const end of ends.splice(0)) end();
  });

  it("drops what comes when 10,000 events wait, and says so once a second and in its own standing", async () => {
    const seen = new Collected<SeenEvent>();
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const worker = await engine.connectWorker();
    worker.serve("slow", async (data) => {
      seen.add(data as SeenEvent);
      await held;
    });
    const id = await bindTrigger(worker, "stream", "slow", {});
    await set("1", "first");
    await seen.count(1);
    const send = (data: number): Promise<unknown> =>
      engine.call("stream::send", { stream_name: "s", group_id: "g", type: "t", data });
    for (let n = 0; n < 10_100; n += 100) await Promise.all(Array.from({ length: 100 }, (_, more) => send(n + more)));
    const dropped = () => engine.logs.filter(({ message }) => message.includes("were dropped"));
    expect(dropped().map(({ fields }) => fields.dropped)).toEqual([1]);
    expect(triggerOf("slow")).toMatchObject({ status: "error", reason: expect.stringContaining("is too slow") });
    clock.advance(1_000);
    expect(dropped().map(({ fields }) => fields.dropped)).toEqual([1, 99]);
    // Pending events are removed with the trigger.
    worker.say({ type: "unregistertrigger", id });
    release();
    await set("1", "nobody's to hear");
    expect(seen.items).toHaveLength(1);
  });

  it("shows a failure, continues with the next event, and clears it after one that succeeds", async () => {
    const seen = new Collected<SeenEvent>();
    const worker = await engine.connectWorker();
    worker.serve("f", (data) => {
      seen.add(data as SeenEvent);
      if ((data as SeenEvent).event.data === "bad") throw new Error("boom");
    });
    await bindTrigger(worker, "stream", "f", {});
    const shown = new Collected<string>();
    engine.directory.onChange(({ kind }) => {
      if (kind === "trigger") shown.add(triggerOf("f")?.status ?? "gone");
    });
    await set("1", "bad");
    await shown.until((statuses) => statuses.includes("error"));
    expect(triggerOf("f")?.reason).toMatch(/its last call failed: invocation_failed: boom/);
    await set("1", "good");
    await seen.count(2);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1_000);
    expect(triggerOf("f")).toMatchObject({ status: "active", reason: null });
  });

  it("does not hear what happens while the worker that asked for it is away, and hears again when it is back", async () => {
    const seen = new Collected<unknown>();
    const provider = await engine.connectWorker({ name: "provider" });
    provider.serve("f", (data) => seen.add((data as SeenEvent).event.data));
    const asker = await engine.connectWorker({ name: "asker" });
    await bindTrigger(asker, "stream", "f", {});
    await set("1", "heard");
    await seen.count(1);
    asker.close();
    await set("1", "missed");
    const again = await engine.connectWorker({ name: "asker" });
    await bindTrigger(again, "stream", "f", {});
    await set("1", "heard again");
    expect(await seen.count(2)).toEqual(["heard", "heard again"]);
  });
});

describe("a restricted connection", () => {
  it.each(["stream", "stream:join", "stream:leave"])(
    "may ask for triggers of type %s only if it may call stream::get",
    async (type) => {
      const guest = await engine.connectWorker({ access: accessTo([]) });
      guest.serve("guest::fn", () => null);
      await expect(bindTrigger(guest, type, "guest::fn", {})).rejects.toThrow(/stream::get/);
      const reader = await engine.connectWorker({ access: accessTo(["stream::get"]) });
      reader.serve("reader::fn", () => null);
      await expect(bindTrigger(reader, type, "reader::fn", {})).resolves.toBeDefined();
    },
  );
});

describe("events of concurrent writers", () => {
  it("come in the order of versions, each once", async () => {
    await expectEventsInOrder(engine);
  });
});
