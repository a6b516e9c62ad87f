import { CallError } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  accessTo,
  type InMemoryEngine,
  inMemoryEngine,
  type ManualClock,
  manualClock,
} from "../../../testing/index.ts";
import { state } from "../index.ts";
import { advanceUntil, bind, gate, listener, turns } from "./testing/listeners.ts";

let clock: ManualClock;
let engine: InMemoryEngine;

beforeEach(async () => {
  clock = manualClock(Date.UTC(2026, 0, 1));
  engine = await inMemoryEngine({
    modules: [state],
    config: { "svc-state": { adapter: { name: "in_memory" } } },
    clock,
  });
});
afterEach(() => engine.stop());

const set = (key: string, value: unknown, scope = "s"): Promise<unknown> =>
  engine.call("state::set", { scope, key, value });
const remove = (key: string): Promise<unknown> => engine.call("state::delete", { scope: "s", key });
const triggerOf = (functionId: string) =>
  engine.directory.triggers().find((trigger) => trigger.function_id === functionId);

describe("a state trigger", () => {
  it("delivers creations, updates and deletions with both values and the version, and no unchanged writes (gap 38)", async () => {
    const changes = await listener(engine);
    expect(await bind(changes.worker, "on::change")).toMatchObject({ status: "active" });
    await set("k", { a: 1 });
    await set("k", { a: 1 });
    await set("k", null);
    await remove("k");
    await remove("k");
    await changes.count(3);
    await turns();
    const common = { type: "state", scope: "s", key: "k", updated_at: "2026-01-01T00:00:00.000Z" };
    expect(changes.told.map(({ event }) => event)).toEqual([
      { ...common, event_type: "state:created", old_value: null, new_value: { a: 1 }, version: 1 },
      { ...common, event_type: "state:updated", old_value: { a: 1 }, new_value: null, version: 2 },
      { ...common, event_type: "state:deleted", old_value: null, new_value: null, version: 3 },
    ]);
  });

  it("is refused when its config has a member that it does not know, which might have been a filter", async () => {
    const changes = await listener(engine);
    for (const type of ["state", "state:created", "state:updated", "state:deleted"]) {
      const answer = await bind(changes.worker, "on::change", { scpoe: "s" }, { type });
      expect(answer).toMatchObject({
        error: {
          code: "trigger_registration_failed",
          message: `${type} trigger: config: unknown member \`scpoe\`; did you mean scope?`,
        },
      });
    }
  });

  it("chooses by scope, key, prefix and event type, and by its own type (gap 38)", async () => {
    const functions: Readonly<Record<string, [type: string, config: unknown]>> = {
      scope: ["state", { scope: "t" }],
      key: ["state", { scope: "s", key: "a/1" }],
      prefix: ["state", { prefix: "a/" }],
      deleted: ["state", { event_types: ["deleted"] }],
      created: ["state:created", {}],
    };
    const listeners = await Promise.all(
      Object.keys(functions).map(async (id) => [id, await listener(engine, id)] as const),
    );
    for (const [id, { worker }] of listeners) {
      const [type, config] = functions[id] as [string, unknown];
      await bind(worker, id, config, { type });
    }
    await set("a/1", 1);
    await set("a/2", 1);
    await set("b", 1, "t");
    await set("a/1", 2);
    await remove("a/1");
    await turns(50);
    expect(Object.fromEntries(listeners.map(([id, { names }]) => [id, names().sort()]))).toEqual({
      scope: ["created b@1"],
      key: ["created a/1@1", "deleted a/1@3", "updated a/1@2"],
      prefix: ["created a/1@1", "created a/2@1", "deleted a/1@3", "updated a/1@2"],
      deleted: ["deleted a/1@3"],
      created: ["created a/1@1", "created a/2@1", "created b@1"],
    });
  });

  it("refuses a config that fits nothing, saying why", async () => {
    const { worker } = await listener(engine);
    expect(await bind(worker, "on::change", { scope: "" })).toMatchObject({
      error: { code: "trigger_registration_failed", message: /`scope`: must not be/ },
    });
  });

  it("hands on the trigger's metadata and the trace of the write", async () => {
    const changes = await listener(engine);
    await bind(changes.worker, "on::change", {}, { metadata: { team: "a" } });
    const traceparent = "00-11112222333344445555666677778888-1111222233334444-01";
    await engine.call("state::set", { scope: "s", key: "k", value: 1 }, { traceparent, baggage: "a=b" });
    await changes.count(1);
    expect(changes.told[0]?.frame).toMatchObject({
      metadata: { team: "a" },
      baggage: expect.stringMatching(/^a=b,svc\.firing=[0-9a-f]{32}-[0-9a-f]{16}$/),
    });
    expect(changes.told[0]?.frame.traceparent).toMatch(
      /^00-11112222333344445555666677778888-(?!1111222233334444)[0-9a-f]{16}-01$/,
    );
  });
});

describe("deliveries of a state trigger", () => {
  it("come one after another for each item, in order of version, and side by side for 16 items (gap 38)", async () => {
    const open = gate();
    let running = 0;
    let most = 0;
    const changes = await listener(engine, "on::change", async () => {
      most = Math.max(most, ++running);
      await open.passed;
      running--;
    });
    await bind(changes.worker, "on::change");
    for (let round = 1; round <= 3; round++) for (let item = 0; item < 20; item++) await set(`k${item}`, round);
    await changes.count(16);
    await turns();
    expect(changes.told).toHaveLength(16);
    expect(new Set(changes.told.map(({ event }) => event.key)).size).toBe(16);
    open.open();
    await changes.count(60);
    expect(most).toBe(16);
    for (let item = 0; item < 20; item++) {
      const versions = changes.told.filter(({ event }) => event.key === `k${item}`).map(({ event }) => event.version);
      expect(versions).toEqual([1, 2, 3]);
    }
  });

  it("all come, in order, when there are more than fit into memory", async () => {
    const open = gate();
    const changes = await listener(engine, "on::change", () => open.passed);
    await bind(changes.worker, "on::change");
    for (let round = 1; round <= 25; round++) {
      const items = Array.from({ length: 100 }, (_, item) => ({ scope: "s", key: `k${item}`, value: round }));
      await engine.call("state::set_many", { items });
    }
    open.open();
    await changes.count(2_500);
    await set("k0", "last");
    await changes.count(2_501);
    const versions = new Map<unknown, unknown[]>();
    for (const { event } of changes.told) versions.set(event.key, [...(versions.get(event.key) ?? []), event.version]);
    for (const [key, found] of versions)
      expect(found).toEqual(Array.from({ length: key === "k0" ? 26 : 25 }, (_, index) => index + 1));
  });

  it("are retried with backoff while the function fails, then dropped, which is logged and shown until one succeeds", async () => {
    let isBroken = true;
    const changes = await listener(engine, "on::change", () => {
      if (isBroken) throw new Error("broken");
    });
    await bind(changes.worker, "on::change", { max_attempts: 3 });
    await set("k", 1);
    await set("k", 2);
    await changes.count(1);
    clock.advance(150);
    await turns();
    expect(changes.names()).toEqual(["created k@1"]);
    // 200 ms and 400 ms, each with 20 % jitter.
    const moved = await advanceUntil(clock, () => changes.told.length >= 4);
    expect(moved).toBeLessThanOrEqual(800);
    expect(changes.names()).toEqual(["created k@1", "created k@1", "created k@1", "updated k@2"]);
    expect(triggerOf("on::change")).toMatchObject({
      status: "error",
      reason: '1 delivery failed, last: "k" in scope "s" (version 1): invocation_failed: broken',
    });
    expect(engine.logs.find(({ message }) => message.startsWith("change not delivered"))?.fields).toMatchObject({
      functionId: "on::change",
      scope: "s",
      key: "k",
      version: 1,
      attempts: 3,
      problem: "broken",
    });
    isBroken = false;
    await advanceUntil(clock, () => changes.told.length >= 5);
    await turns();
    expect(triggerOf("on::change")).toMatchObject({ status: "active", reason: null });
  });

  it("are dropped at once when the function fails with trigger_loop, because each retry would fail too", async () => {
    const changes = await listener(engine, "on::change", () => {
      throw new CallError("trigger_loop", "writing would continue a trigger loop");
    });
    await bind(changes.worker, "on::change");
    await set("k", 1);
    await set("k", 2);
    await changes.count(2);
    expect(changes.names()).toEqual(["created k@1", "updated k@2"]);
    expect(engine.logs.find(({ message }) => message.startsWith("change not delivered"))?.fields).toMatchObject({
      code: "trigger_loop",
      attempts: 1,
    });
  });

  it("do not hold up those of other items while one fails", async () => {
    const changes = await listener(engine, "on::change", ({ event }) => {
      if (event.key === "bad") throw new Error("broken");
    });
    await bind(changes.worker, "on::change");
    await set("bad", 1);
    for (let round = 0; round < 20; round++) await set("good", round);
    await changes.count(21);
    expect(changes.names().filter((name) => name.includes("good"))).toHaveLength(20);
  });

  it("pass over a change for which the condition answers false, and wait for a condition that is not there (gap 38)", async () => {
    const changes = await listener(engine);
    await bind(changes.worker, "on::change", { condition_function_id: "is::wanted" });
    await set("k", 1);
    await turns();
    expect(triggerOf("on::change")).toMatchObject({
      status: "inactive",
      reason: expect.stringContaining("is::wanted"),
    });
    expect(changes.told).toHaveLength(0);
    const condition = await listener(engine, "is::wanted", ({ event }) => event.new_value !== 2);
    await condition.count(1);
    await set("k", 2);
    await set("k", 3);
    await changes.count(2);
    expect(changes.names()).toEqual(["created k@1", "updated k@3"]);
    expect(condition.names()).toEqual(["created k@1", "updated k@2", "updated k@3"]);
  });

  it("wait for a function that is not there, without using up attempts, and begin when it comes", async () => {
    const { worker } = await listener(engine, "other");
    await bind(worker, "on::change", { max_attempts: 1 });
    await set("k", 1);
    await set("k", 2);
    clock.advance(3_600_000);
    await turns();
    const changes = await listener(engine);
    await changes.count(2);
    expect(changes.names()).toEqual(["created k@1", "updated k@2"]);
    expect(engine.logs.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("go on in order when the worker that went with one in its hands is back", async () => {
    const first = await listener(engine, "on::change", () => new Promise(() => {}));
    await bind(first.worker, "on::change", { max_attempts: 1 });
    await set("k", 1);
    await set("k", 2);
    await first.count(1);
    first.worker.close();
    await turns();
    expect(triggerOf("on::change")).toMatchObject({ status: "inactive" });
    await set("k", 3);
    await turns();
    const second = await listener(engine);
    // The function alone is not enough, because the binding's owner is disconnected.
    clock.advance(2_000);
    await turns();
    expect(second.told).toHaveLength(0);
    await bind(second.worker, "on::change", { max_attempts: 1 });
    await advanceUntil(clock, () => second.told.length === 3);
    expect(second.names()).toEqual(["created k@1", "updated k@2", "updated k@3"]);
  });

  it("are retried when workers keep disconnecting during one, which is logged", async () => {
    for (let round = 0; round < 6; round++) {
      const mortal = await listener(engine, "on::change", () => mortal.worker.close());
      await bind(mortal.worker, "on::change", { max_attempts: 1 });
      if (round === 0) await set("k", 1);
      await advanceUntil(clock, () => mortal.told.length === 1);
      await mortal.worker.closed;
    }
    const survivor = await listener(engine);
    await bind(survivor.worker, "on::change", { max_attempts: 1 });
    await advanceUntil(clock, () => survivor.told.length === 1);
    expect(engine.logs.filter(({ message }) => message.startsWith("workers keep crashing"))).toEqual([
      expect.objectContaining({
        level: "warn",
        fields: expect.objectContaining({ functionId: "on::change", key: "k", version: 1 }),
      }),
    ]);
  });

  it("are dropped when the trigger is taken back, and do not come when it is asked for again", async () => {
    const open = gate();
    const changes = await listener(engine, "on::change", () => open.passed);
    await bind(changes.worker, "on::change", {}, { id: "mine" });
    await set("k", 1);
    await set("k", 2);
    await changes.count(1);
    changes.worker.say({ type: "unregistertrigger", id: "mine" });
    await turns();
    await set("k", 3);
    await bind(changes.worker, "on::change", {}, { id: "mine" });
    await set("k", 4);
    await turns();
    // The running delivery of the earlier binding ends first.
    expect(changes.names()).toEqual(["created k@1"]);
    open.open();
    await changes.count(2);
    await turns();
    expect(changes.names()).toEqual(["created k@1", "updated k@4"]);
    expect(engine.logs.find(({ message }) => message.startsWith("state trigger removed"))?.fields).toMatchObject({
      deliveries: 2,
    });
  });

  it("are kept for 10 minutes after the worker was disconnected for 60 s, which is logged once, and go to an equal trigger", async () => {
    const first = await listener(engine);
    await bind(first.worker, "on::change", { scope: "s" });
    await set("k", 1);
    await first.count(1);
    await turns();
    first.worker.close();
    await turns();
    clock.advance(60_000);
    await turns();
    const said = () =>
      engine.logs.filter(({ message }) => message.startsWith("the worker of a state trigger is disconnected"));
    expect(said()).toEqual([]);
    await set("k", 2);
    await set("k", 3);
    await set("k", 3, "other");
    await turns();
    expect(said()).toEqual([
      expect.objectContaining({
        level: "warn",
        fields: expect.objectContaining({
          trigger: 'on::change on any key in scope "s"',
          until: "2026-01-01T00:11:00.000Z",
        }),
      }),
    ]);
    clock.advance(9 * 60_000);
    const second = await listener(engine);
    await bind(second.worker, "on::change", { scope: "s" });
    await set("k", 4);
    await second.count(3);
    await turns();
    expect(second.names()).toEqual(["updated k@2", "updated k@3", "updated k@4"]);
    clock.advance(60_000);
    await turns();
    expect(engine.logs.filter(({ message }) => message.startsWith("discarded deliveries"))).toEqual([]);
  });

  it("are said to be kept when the trigger lapses with some that wait", async () => {
    const changes = await listener(engine, "on::change", () => new Promise(() => {}));
    await bind(changes.worker, "on::change");
    await set("k", 1);
    await changes.count(1);
    changes.worker.close();
    await turns();
    clock.advance(60_000);
    await turns();
    const said = () =>
      engine.logs.filter(({ message }) => message.startsWith("the worker of a state trigger is disconnected"));
    expect(said()).toHaveLength(1);
    await set("k", 2);
    expect(said()).toHaveLength(1);
  });

  it("are discarded 10 minutes after the trigger lapsed, which is logged", async () => {
    const changes = await listener(engine, "on::change", () => new Promise(() => {}));
    await bind(changes.worker, "on::change");
    await set("k", 1);
    await set("k", 2);
    await changes.count(1);
    changes.worker.close();
    await turns();
    clock.advance(60_000);
    await set("k", 3);
    clock.advance(9 * 60_000);
    await turns();
    expect(engine.logs.filter(({ message }) => message.startsWith("discarded deliveries"))).toEqual([]);
    clock.advance(61_000);
    await turns();
    expect(
      engine.logs.find(({ message }) => message === "discarded deliveries of a state trigger")?.fields,
    ).toMatchObject({
      trigger: "on::change on any key in any scope",
      deliveries: 3,
    });
  });

  it("do not begin while the engine drains", async () => {
    const open = gate();
    const changes = await listener(engine, "on::change", () => open.passed);
    await bind(changes.worker, "on::change");
    await set("k", 1);
    await set("k", 2);
    await changes.count(1);
    const drained = engine.kernel.router.drain(60_000);
    open.open();
    expect(await drained).toBe(true);
    await advanceUntil(clock, () => true);
    clock.advance(120_000);
    await turns();
    expect(changes.names()).toEqual(["created k@1"]);
    expect(engine.logs.filter(({ level }) => level === "error")).toEqual([]);
  });
});

describe("triggers that fire one another", () => {
  /** A function that writes its own key in each call, like the given client. */
  async function selfWriter(passesTrace: boolean, features?: readonly []) {
    const errors: unknown[] = [];
    const writer = await listener(
      engine,
      "on::change",
      async ({ event, frame }) => {
        const trace = passesTrace ? { traceparent: frame.traceparent } : {};
        const answer = await writer.worker.call(
          "state::set",
          { scope: "s", key: event.key, value: Number(event.new_value) + 1 },
          trace,
        );
        if (answer.error != null) errors.push(answer.error);
      },
      features === undefined ? {} : { features },
    );
    await bindQuietly(writer.worker);
    return { writer, errors };
  }

  /** Published clients get no result of a registration. */
  async function bindQuietly(worker: { say(message: Readonly<Record<string, unknown>>): void }): Promise<void> {
    worker.say({ type: "registertrigger", id: "loop", trigger_type: "state", function_id: "on::change", config: {} });
    await turns();
  }

  it.each([
    ["that passes the trace on", true, undefined],
    ["of a published client that does not", false, [] as const],
  ])("are stopped after 16 deliveries to a function %s (gap 38) (S-3)", async (_, passesTrace, features) => {
    const { writer, errors } = await selfWriter(passesTrace, features);
    await set("k", 0);
    await writer.count(16);
    await turns(50);
    expect(writer.told).toHaveLength(16);
    expect(errors).toEqual([
      expect.objectContaining({
        code: "trigger_loop",
        message: expect.stringMatching(
          /^trigger loop: writing "k" in scope "s" would be .* 16 chained trigger deliveries; the chain ends with (on::change \(fired by "k" in scope "s"\)( -> )?){3};/,
        ),
      }),
    ]);
    expect(await engine.call("state::get", { scope: "s", key: "k" })).toBe(15);
  });

  it("do not prevent the function from writing items without watchers", async () => {
    const written: unknown[] = [];
    const writer = await listener(engine, "on::change", async ({ event, frame }) => {
      const trace = { traceparent: frame.traceparent };
      await writer.worker.call("state::set", { scope: "watched", key: "k", value: event.version }, trace);
      written.push(
        (await writer.worker.call("state::set", { scope: "log", key: "k", value: event.version }, trace)).error,
      );
    });
    await bind(writer.worker, "on::change", { scope: "watched" });
    await set("k", "first", "watched");
    await writer.count(16);
    await turns(50);
    expect(written).toHaveLength(16);
    expect(written.every((error) => error === null)).toBe(true);
  });

  it("are not seen in a function that writes a hundred watched items in one trace, or one item a hundred times", async () => {
    const changes = await listener(engine);
    await bind(changes.worker, "on::change");
    const traceparent = "00-11112222333344445555666677778888-1111222233334444-01";
    for (let write = 0; write < 100; write++) {
      for (const key of ["same", `k${write}`]) {
        const answer = await changes.worker.call("state::set", { scope: "s", key, value: write }, { traceparent });
        expect(answer.error).toBeNull();
      }
      await changes.count(2 * write + 2);
    }
  });
});

describe("a restricted connection", () => {
  it("may watch state only if it may call state::get", async () => {
    const guest = await listener(engine, "guest::fn", undefined, { access: accessTo([]) });
    expect(await bind(guest.worker, "guest::fn")).toMatchObject({
      error: { code: "FORBIDDEN", message: expect.stringContaining("state::get") },
    });
    const reader = await listener(engine, "reader::fn", undefined, { access: accessTo(["state::get"]) });
    expect(await bind(reader.worker, "reader::fn")).toMatchObject({ status: "active" });
    await set("k", 1);
    await reader.count(1);
    expect(guest.told).toHaveLength(0);
  });

  it.each([
    ["does not ask", false],
    ["asks", true],
  ])(
    "drops no changes that wait for a trusted worker when it %s for an equal trigger and leaves",
    async (_, isAttacked) => {
      const first = await listener(engine);
      await bind(first.worker, "on::change");
      first.worker.close();
      await turns();
      clock.advance(60_000);
      await turns();
      await set("k", 1);
      await turns();
      if (isAttacked) {
        const guest = await engine.connectWorker({ name: "guest", access: accessTo(["on::change", "state::get"]) });
        expect(await bind(guest, "on::change")).not.toHaveProperty("error");
        guest.close();
        await turns();
      }
      await set("k", 2);
      const second = await listener(engine);
      await bind(second.worker, "on::change");
      await set("k", 3);
      await second.count(3);
      expect(second.names()).toEqual(["created k@1", "updated k@2", "updated k@3"]);
    },
  );

  it("that asked first and leaves last drops no changes that wait for a trusted worker", async () => {
    const guest = await engine.connectWorker({ name: "guest", access: accessTo(["on::change", "state::get"]) });
    await bind(guest, "on::change");
    const first = await listener(engine);
    await bind(first.worker, "on::change");
    first.worker.close();
    await turns();
    clock.advance(60_000);
    await turns();
    await set("k", 1);
    guest.close();
    await turns();
    const second = await listener(engine);
    await bind(second.worker, "on::change");
    await second.count(1);
    expect(second.names()).toEqual(["created k@1"]);
  });

  it.each([
    ["it alone asked for", false],
    ["a trusted worker took back", true],
  ])("leaves nothing behind of a trigger that %s", async (_, isShared) => {
    const guest = await engine.connectWorker({ name: "guest", access: accessTo(["on::change", "state::get"]) });
    await bind(guest, "on::change");
    if (isShared) {
      const owner = await engine.connectWorker({ name: "owner" });
      await bind(owner, "on::change", {}, { id: "owners" });
      owner.say({ type: "unregistertrigger", id: "owners" });
      await turns();
    }
    await set("k", 1);
    guest.close();
    await turns();
    await set("k", 2);
    const second = await listener(engine);
    await bind(second.worker, "on::change");
    await set("k", 3);
    await second.count(1);
    expect(second.names()).toEqual(["updated k@3"]);
  });

  it("is not left with what an unrestricted worker asked for as well, when that one takes it back", async () => {
    const owner = await listener(engine, "shared::fn");
    await bind(owner.worker, "shared::fn", {}, { id: "owners" });
    const guest = await engine.connectWorker({ name: "guest", access: accessTo(["shared::fn"]) });
    expect(await bind(guest, "shared::fn")).toMatchObject({ status: "active" });
    await set("k", 1);
    await owner.count(1);
    owner.worker.say({ type: "unregistertrigger", id: "owners" });
    await turns();
    await set("k", 2);
    await turns();
    expect(owner.names()).toEqual(["created k@1"]);
    expect(triggerOf("shared::fn")).toMatchObject({ status: "error", reason: expect.stringContaining("state::get") });
    await bind(owner.worker, "shared::fn", {}, { id: "owners" });
    await owner.count(2);
    expect(triggerOf("shared::fn")).toMatchObject({ status: "active" });
  });
});
