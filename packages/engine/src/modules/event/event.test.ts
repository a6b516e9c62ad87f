import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  accessTo,
  bindTrigger,
  Collected,
  type InMemoryEngine,
  type InMemoryWorker,
  inMemoryEngine,
  type ManualClock,
  manualClock,
} from "../../testing/index.ts";
import { event } from "./index.ts";

let clock: ManualClock;
let engine: InMemoryEngine;

beforeEach(async () => {
  clock = manualClock(Date.UTC(2026, 0, 1));
  engine = await inMemoryEngine({ modules: [event], clock });
});
afterEach(() => engine.stop());

/** Connects a worker whose function is bound to a topic, and records its inputs. */
async function listen(config: unknown, { type = "event", id = `on::${crypto.randomUUID()}` } = {}) {
  const told = new Collected<unknown>();
  const frames: Record<string, unknown>[] = [];
  const worker = await engine.connectWorker({ name: id });
  worker.serve(id, (data, frame) => {
    frames.push(frame);
    told.add(data);
  });
  const trigger = await bindTrigger(worker, type, id, config);
  return { worker, told, frames, trigger, id };
}

const publish = (topic: unknown, data?: unknown): Promise<unknown> => engine.call("publish", { topic, data });
const triggerOf = (functionId: string) =>
  engine.directory.triggers().find(({ function_id }) => function_id === functionId);
const topics = async () => ((await engine.call("event::list")) as { topics: Record<string, unknown>[] }).topics;
const topicNamed = async (name: string) => (await topics()).find(({ topic }) => topic === name);
/** Resolves when everything that a worker has sent was handled. */
async function settled(worker: InMemoryWorker): Promise<void> {
  worker.say({ type: "ping" });
  await worker.next((frame) => frame.type === "pong");
}

describe("an event", () => {
  it("is refused by our own functions with a member that they do not know, and published all the same by the published one", async () => {
    await expect(engine.call("event::emit", { event: "a", dta: 1 })).rejects.toMatchObject({
      message: "event::emit: the payload: unknown member `dta`; did you mean data?",
    });
    await expect(engine.call("event::list", { topic: "a" })).rejects.toMatchObject({ code: "invalid_input" });
    expect(await engine.call("publish", { topic: "a", dta: 1 })).toBeNull();
  });

  it("reaches everyone who listens, once, as it was published", async () => {
    const all = await Promise.all([
      listen({ topic: "orders.created" }),
      listen({ event: "orders.created" }),
      listen({ event_name: "orders.created" }),
      listen({ topic: "orders.created" }, { type: "subscribe" }),
      listen({ topic: "orders.*" }),
      listen({ topic: "**" }, { type: "subscribe" }),
    ]);
    const other = await listen({ topic: "orders.deleted" });
    await publish("orders.created", { id: 7 });
    await publish("orders.deleted", "end");
    for (const { told } of all) expect((await told.count(1))[0]).toEqual({ id: 7 });
    expect(await other.told.count(1)).toEqual(["end"]);
    expect(all.slice(0, 4).map(({ told }) => told.items.length)).toEqual([1, 1, 1, 1]);
  });

  it("has its digits untouched, and null where there was no data", async () => {
    const { told, worker } = await listen({ topic: "t" });
    worker.say({ type: "registerfunction", id: "raw" });
    await bindTrigger(worker, "event", "raw", { topic: "t" });
    worker.send(
      '{"type":"invokefunction","function_id":"publish","data":{"topic":"t","data":{"n":9007199254740993,"big":1e400}}}',
    );
    await told.count(1);
    await settled(worker);
    expect(worker.received.find((text) => text.includes('"raw"') && text.includes("invokefunction"))).toContain(
      '{"n":9007199254740993,"big":1e400}',
    );
    await publish("t");
    expect((await told.count(2))[1]).toBeNull();
  });

  it("tells its topic in the metadata, beside what the trigger says", async () => {
    const plain = await listen({ topic: "orders.*" });
    const own = await engine.connectWorker();
    const seen = new Collected<unknown>();
    own.serve("own", (_data, frame) => seen.add(frame.metadata));
    for (const [id, metadata] of [
      ["00000000-0000-4000-8000-000000000001", { team: "shop" }],
      ["00000000-0000-4000-8000-000000000002", "no object"],
    ] as const) {
      own.say({
        type: "registertrigger",
        id,
        trigger_type: "event",
        function_id: "own",
        config: { topic: typeof metadata === "string" ? "orders.*" : "**" },
        metadata,
      });
    }
    await settled(own);
    await publish("orders.created");
    await plain.told.count(1);
    expect(plain.frames[0]?.metadata).toEqual({ svc: { topic: "orders.created" } });
    const metadata = await seen.count(2);
    expect(metadata).toContainEqual({ team: "shop", svc: { topic: "orders.created" } });
    expect(metadata).toContainEqual("no object");
  });

  it("carries the publisher's trace on", async () => {
    const { told, frames } = await listen({ topic: "t" });
    const publisher = await engine.connectWorker();
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await publisher.call("publish", { topic: "t" }, { traceparent, baggage: "user=ada" });
    await told.count(1);
    expect(frames[0]).toMatchObject({
      traceparent: expect.stringContaining("0af7651916cd43dd8448eb211c80319c"),
      baggage: "user=ada",
    });
  });

  it("is answered when it is accepted, with nothing, or with the number of those who took it", async () => {
    const { worker, told } = await listen({ topic: "t" });
    worker.serve("slow", () => new Promise(() => {}));
    await bindTrigger(worker, "event", "slow", { topic: "t" });
    const answer = await worker.call("publish", { topic: "t", data: 1 });
    expect([answer.error, answer.result]).toEqual([null, null]);
    expect(await engine.call("event::emit", { event: "t", data: 2 })).toEqual({ delivered_to: 2 });
    expect(await engine.call("event::emit", { event: "nobody's" })).toEqual({ delivered_to: 0 });
    await told.count(2);
  });

  it.each([
    ["publish", {}, "topic_not_set"],
    ["publish", { topic: "" }, "topic_not_set"],
    ["publish", { topic: null, data: 1 }, "topic_not_set"],
    ["event::emit", { data: 1 }, "topic_not_set"],
    ["publish", { topic: 7 }, "invalid_input"],
    ["publish", { topic: "x".repeat(257) }, "invalid_input"],
    ["publish", "no object", "invalid_input"],
  ])("is refused without a usable topic: %s %j", async (functionId, payload, code) => {
    await expect(engine.call(functionId, payload)).rejects.toMatchObject({ code });
    if (code === "topic_not_set") await expect(engine.call(functionId, payload)).rejects.toThrow(/^Topic is not set$/);
  });
});

describe("a subscriber", () => {
  it("that leaves takes nobody else's events away (gap 14)", async () => {
    const [leaving, staying, wild] = await Promise.all([
      listen({ topic: "t" }),
      listen({ topic: "t" }),
      listen({ topic: "*" }),
    ]);
    leaving.worker.say({ type: "unregistertrigger", id: leaving.trigger });
    await settled(leaving.worker);
    await publish("t", 1);
    expect(await staying.told.count(1)).toEqual([1]);
    expect(await wild.told.count(1)).toEqual([1]);
    wild.worker.close();
    await publish("t", 2);
    expect(await staying.told.count(2)).toEqual([1, 2]);
    expect(leaving.told.items).toEqual([]);
  });

  it("is passed over where its condition answers false, and failed where the condition fails (gap 15)", async () => {
    const { worker, told, id } = await listen({ topic: "t", condition_function_id: "wants" }, { type: "subscribe" });
    expect(triggerOf(id)).toMatchObject({ status: "inactive", reason: expect.stringContaining("wants") });
    worker.serve("wants", (data) => {
      if (data === "bad") throw new Error("cannot say");
      return data !== "no";
    });
    await settled(worker);
    for (const data of ["no", "bad", "yes"]) await publish("t", data);
    expect(await told.count(1)).toEqual(["yes"]);
    expect(await topicNamed("t")).toMatchObject({ published: 3, failed: 1 });
  });

  it("that fails is logged, counted and shown, hears the next event, and takes no other with it (gap 16)", async () => {
    const well = await listen({ topic: "t" });
    const failing = await engine.connectWorker();
    const calls = new Collected<unknown>();
    failing.serve("failing", (data) => {
      calls.add(data);
      if (data !== "good") throw new Error("boom");
    });
    await bindTrigger(failing, "event", "failing", { topic: "t" });
    const statuses = new Collected<string>();
    engine.directory.onChange(({ kind }) => {
      if (kind === "trigger") statuses.add(triggerOf("failing")?.status ?? "gone");
    });
    for (const data of [1, 2, 3]) await publish("t", data);
    await calls.count(3);
    await settled(failing);
    clock.advance(1_000);
    const logged = engine.logs
      .filter(({ message }) => message === "calls for a trigger failed")
      .map(({ fields }) => fields.failed);
    expect(logged).toEqual([1, 2]);
    expect(triggerOf("failing")).toMatchObject({
      status: "error",
      reason: "its last call failed: invocation_failed: boom",
    });
    expect(await topicNamed("t")).toMatchObject({ published: 3, failed: 3, dropped: 0, subscribers: 2 });
    await publish("t", "good");
    await calls.count(4);
    await settled(failing);
    clock.advance(1_000);
    await statuses.until((seen) => seen.at(-1) === "active");
    expect(await well.told.count(4)).toEqual([1, 2, 3, "good"]);
  });

  it("hears each publisher's events in order and one at a time, and up to 16 publishers at once", async () => {
    const running = new Collected<{ by: number; n: number }>();
    const ends: (() => void)[] = [];
    const worker = await engine.connectWorker();
    worker.serve("slow", (data) => {
      running.add(data as { by: number; n: number });
      return new Promise<void>((resolve) => ends.push(resolve));
    });
    await bindTrigger(worker, "event", "slow", { topic: "t" });
    const publishers = await Promise.all(Array.from({ length: 20 }, () => engine.connectWorker()));
    for (const n of [1, 2])
      await Promise.all(publishers.map((publisher, by) => publisher.call("publish", { topic: "t", data: { by, n } })));
    const firsts = await running.count(16);
    await settled(worker);
    expect(firsts).toHaveLength(16);
    expect(firsts.every(({ n }) => n === 1)).toBe(true);
    for (let seen = 16; seen < 40; seen++) {
      ends.shift()?.();
      await running.count(seen + 1);
    }
    for (const end of ends) end();
    for (const by of publishers.keys())
      expect(running.items.filter((one) => one.by === by).map(({ n }) => n)).toEqual([1, 2]);
  });

  it("that does not keep up loses what comes on top of 1,000 events, which is counted, shown and said once a second; others lose nothing (gap 16)", async () => {
    const slow = await engine.connectWorker();
    const begun = new Collected<unknown>();
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    slow.serve("slow", (data) => {
      begun.add(data);
      return held;
    });
    await bindTrigger(slow, "event", "slow", { topic: "t" });
    const quick = await listen({ topic: "t" });
    await publish("t", 0);
    await begun.count(1);
    for (let n = 1; n <= 1_100; n++) {
      await publish("t", n);
      // The other subscriber keeps up.
      if (n % 500 === 0) await quick.told.count(n);
    }
    expect(await engine.call("event::emit", { event: "t", data: 1_101 })).toEqual({ delivered_to: 1 });
    expect(await topicNamed("t")).toMatchObject({ published: 1_102, dropped: 101, failed: 0 });
    expect(triggerOf("slow")).toMatchObject({ status: "error", reason: expect.stringContaining("is too slow") });
    const dropped = () =>
      engine.logs.filter(({ message }) => message.includes("were dropped")).map(({ fields }) => fields.dropped);
    expect(dropped()).toEqual([1]);
    clock.advance(1_000);
    expect(dropped()).toEqual([1, 100]);
    expect((await quick.told.count(1_102)).at(-1)).toBe(1_101);
    release();
    expect(await begun.count(1_001)).toHaveLength(1_001);
    await settled(slow);
    clock.advance(1_000);
    expect(triggerOf("slow")).toMatchObject({ status: "active" });
  });

  it("has room for as much as the config says, and for more once the config says so", async () => {
    const slow = await engine.connectWorker();
    slow.serve("slow", () => new Promise(() => {}));
    await bindTrigger(slow, "event", "slow", { topic: "t" });
    const emit = async (data: unknown) =>
      ((await engine.call("event::emit", { event: "t", data })) as { delivered_to: number }).delivered_to;
    const limit = (config: unknown) => engine.applyModules([{ name: "svc-event", config }]);
    expect(await limit({ max_waiting_events: 1 })).toEqual([]);
    expect([await emit("in hand"), await emit("waits"), await emit("too many")]).toEqual([1, 1, 0]);
    await limit({ max_waiting_bytes: 2_000 });
    expect([await emit("waits"), await emit("x".repeat(2_000)), await emit("waits")]).toEqual([1, 0, 1]);
    expect(await limit({ adapter: { name: "redis" } })).toEqual([
      expect.stringContaining("the only adapter is `local`"),
    ]);
  });

  it("shares the room in bytes with the other triggers of its restricted principal, and takes none from triggers of the owner", async () => {
    await engine.applyModules([{ name: "svc-event", config: { max_waiting_bytes: 10_000 } }]);
    const emit = async (topic: string) =>
      ((await engine.call("event::emit", { event: topic, data: "x".repeat(3_000) })) as { delivered_to: number })
        .delivered_to;
    const access = accessTo(["event::list"]);
    for (const id of ["one", "two"]) {
      const tenant = await engine.connectWorker({ access });
      tenant.serve(id, () => new Promise(() => {}));
      await bindTrigger(tenant, "event", id, { topic: id });
    }
    // One event is being delivered, the others wait.
    expect([await emit("one"), await emit("one"), await emit("two")]).toEqual([1, 1, 1]);
    expect([await emit("one"), await emit("two")]).toEqual([0, 0]);
    const owner = await engine.connectWorker();
    for (let n = 0; n < 10; n++) {
      const id = `owner-${n}`;
      owner.serve(id, () => new Promise(() => {}));
      await bindTrigger(owner, "event", id, { topic: id });
    }
    for (let n = 0; n < 10; n++)
      expect([await emit(`owner-${n}`), await emit(`owner-${n}`), await emit(`owner-${n}`)]).toEqual([1, 1, 1]);
  });

  it("hears nothing while the worker that asked for it is away, and hears again when it is back", async () => {
    const provider = await engine.connectWorker();
    const told = new Collected<unknown>();
    provider.serve("f", (data) => told.add(data));
    const asker = await engine.connectWorker();
    await bindTrigger(asker, "event", "f", { topic: "t" });
    asker.close();
    await publish("t", "missed");
    const again = await engine.connectWorker();
    await bindTrigger(again, "event", "f", { topic: "t" });
    await publish("t", "heard");
    expect(await told.count(1)).toEqual(["heard"]);
  });

  it.each([
    ["event", {}, /topic.*is missing/],
    ["subscribe", {}, /topic.*is missing/],
    ["event", { topic: "a", event: "b" }, /the same; set only one/],
    ["event", { topic: "a", condition: "f" }, /condition/],
    ["event", { topic: "a*" }, /whole segment/],
    ["subscribe", { topic: "" }, /empty/],
  ])("asks with a config that can be meant: %s %j", async (type, config, problem) => {
    const worker = await engine.connectWorker();
    worker.serve("f", () => null);
    await expect(bindTrigger(worker, type, "f", config)).rejects.toThrow(problem);
  });

  it("may not listen over a restricted connection that may call neither publish nor event::list", async () => {
    const guest = await engine.connectWorker({ access: accessTo([]) });
    guest.serve("guest::fn", () => null);
    await expect(bindTrigger(guest, "event", "guest::fn", { topic: "t" })).rejects.toThrow(/event::list/);
    const reader = await engine.connectWorker({ access: accessTo(["event::list"]) });
    const told = new Collected<unknown>();
    reader.serve("reader::fn", (data) => told.add(data));
    await bindTrigger(reader, "subscribe", "reader::fn", { topic: "**" });
    await expect(bindTrigger(reader, "event", "reader::fn", { topic: "state:updated" })).rejects.toThrow(/state::get/);
    await publish("t", 1);
    expect(await told.count(1)).toEqual([1]);
  });
});

describe("the module", () => {
  it("is there once, also under its other name, since an event would reach only half of those who listen", async () => {
    const { told } = await listen({ topic: "t" });
    const once = { name: "svc-event", config: {} };
    expect(await engine.applyModules([once, { ...once, instance: "svc-event#2" }])).toEqual([
      expect.stringContaining("list it, or its other name svc-pubsub"),
    ]);
    for (const n of [1, 2, 3, 4]) await publish("t", n);
    expect(await told.count(4)).toEqual([1, 2, 3, 4]);
  });
});

describe("event::list", () => {
  it("shows topics that were published to and those that are listened to, in order", async () => {
    await listen({ topic: "b" });
    await listen({ topic: "*" });
    await publish("c");
    clock.advance(2_000);
    await publish("a");
    await publish("a");
    expect(await topics()).toEqual([
      { topic: "*", subscribers: 1, published: 0, failed: 0, dropped: 0, last_published_at: null },
      {
        topic: "a",
        subscribers: 1,
        published: 2,
        failed: 0,
        dropped: 0,
        last_published_at: "2026-01-01T00:00:02.000Z",
      },
      { topic: "b", subscribers: 2, published: 0, failed: 0, dropped: 0, last_published_at: null },
      {
        topic: "c",
        subscribers: 1,
        published: 1,
        failed: 0,
        dropped: 0,
        last_published_at: "2026-01-01T00:00:00.000Z",
      },
    ]);
  });

  it("remembers 10,000 topics, those published to last", async () => {
    for (let n = 0; n <= 10_000; n++) await publish(`t${n}`);
    const listed = await topics();
    expect(listed).toHaveLength(10_000);
    expect(listed.some(({ topic }) => topic === "t0")).toBe(false);
  });
});
