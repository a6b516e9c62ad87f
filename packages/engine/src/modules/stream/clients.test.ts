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

let clock: ManualClock;
let engine: InMemoryEngine;

async function start(config: object = {}): Promise<void> {
  clock = manualClock(Date.UTC(2026, 0, 1));
  engine = await inMemoryEngine({
    modules: [stream],
    config: { "svc-stream": { adapter: { name: "in_memory" }, ...config } },
    clock,
  });
}
beforeEach(() => start());
afterEach(() => engine.stop());

const set = (item_id: string, data: unknown, stream_name = "s"): Promise<unknown> =>
  engine.call("stream::set", { stream_name, group_id: "g", item_id, data });

type Socket = ReturnType<InMemoryEngine["openSocket"]>;

function join(socket: Socket, more: object = {}, type = "join"): void {
  socket.say({ type, data: { subscriptionId: "1", streamName: "s", groupId: "g", ...more } });
}

/** Connects a client that sends hello, so that it receives reasons of refusals. */
function extendedClient(): Socket {
  const socket = engine.openSocket("/");
  socket.say({ type: "hello", data: { version: 1 } });
  return socket;
}

const typeIs = (type: string) => (message: Record<string, unknown>) => message.type === type;

interface Refused {
  readonly data: { readonly code: string; readonly message: string; readonly subscriptionId: string };
}

async function serve(functions: Readonly<Record<string, (data: unknown) => unknown>>) {
  const worker = await engine.connectWorker();
  for (const [id, handle] of Object.entries(functions)) worker.serve(id, handle);
  return worker;
}

describe("a client that joins", () => {
  it("gets what there is, then each change, as the published protocol has it", async () => {
    await set("b", 2);
    await set("a", 1);
    const socket = engine.openSocket("/");
    join(socket);
    expect(await socket.next()).toEqual({
      type: "stream",
      timestamp: clock.now(),
      streamName: "s",
      groupId: "g",
      id: null,
      event: { type: "sync", data: [1, 2] },
    });
    await set("a", 3);
    await engine.call("stream::delete", { stream_name: "s", group_id: "g", item_id: "b" });
    await engine.call("stream::send", { stream_name: "s", group_id: "g", type: "bell", data: "ding" });
    const told = [await socket.next(), await socket.next(), await socket.next()];
    expect(told.map(({ id, event }) => [id, event])).toEqual([
      ["a", { type: "update", data: 3 }],
      ["b", { type: "delete", data: 2 }],
      [null, { type: "event", event: { type: "bell", data: "ding" } }],
    ]);
  });

  it("gets one item, or null, when it joined one", async () => {
    await set("a", 1);
    const socket = engine.openSocket("/stream/s/g/a");
    expect(await socket.next()).toMatchObject({ id: "a", event: { type: "sync", data: 1 } });
    join(socket, { id: "b", subscriptionId: "2" });
    expect(await socket.next()).toMatchObject({ id: "b", event: { type: "sync", data: null } });
    await set("c", 1);
    await set("b", 2);
    expect(await socket.next()).toMatchObject({ id: "b", event: { type: "create", data: 2 } });
  });

  it("receives ids, versions and sequence numbers after hello, and missed events after a reconnect (gap 41)", async () => {
    await set("b", 2);
    await set("a", 1);
    const first = extendedClient();
    join(first);
    const { data: welcome } = (await first.next(typeIs("welcome"))) as { data: { epoch: string } };
    expect(await first.next(typeIs("stream"))).toMatchObject({
      itemIds: ["a", "b"],
      seq: 2,
      subscriptionIds: ["1"],
      event: { type: "sync", data: [1, 2] },
    });
    first.close();
    await set("a", "changed");
    const second = extendedClient();
    join(second, { since: { epoch: welcome.epoch, seq: 2 } });
    expect(await second.next(typeIs("joined"))).toMatchObject({ data: { seq: 2, resumed: true } });
    expect(await second.next(typeIs("stream"))).toMatchObject({
      id: "a",
      seq: 3,
      version: 2,
      event: { type: "update", data: "changed" },
    });
  });

  it.each(["", "a\u001fb", "svc.workers", "x".repeat(300)])("may not use the stream name %j", async (streamName) => {
    const socket = extendedClient();
    join(socket, { streamName, groupId: "h" });
    expect((await socket.next(typeIs("error"))) as unknown as Refused).toMatchObject({
      data: { code: expect.stringMatching(/FORBIDDEN|NOT_FOUND|invalid_message/) },
    });
  });

  it("cannot access another group with a name that contains the separator of stream and group", async () => {
    await engine.call("stream::set", { stream_name: "a", group_id: "b", item_id: "1", data: "secret" });
    const socket = extendedClient();
    join(socket, { streamName: "a\u001fb", groupId: "c" });
    join(socket, { subscriptionId: "2", streamName: "a", groupId: "b\u001fc" });
    for (let refused = 0; refused < 2; refused++) expect(await socket.next(typeIs("error"))).toBeDefined();
    expect(socket.received.join()).not.toContain("secret");
  });
});

describe("triggers of type stream:join", () => {
  const allowing: readonly (readonly [string, unknown])[] = [
    ["nothing", undefined],
    ["null", null],
    ["an empty object", {}],
    ["unauthorized: false", { unauthorized: false }],
    ["unauthorized: null", { unauthorized: null }],
  ];
  it.each(allowing)("let a client in by answering %s", async (_what, answer) => {
    const asked = new Collected<unknown>();
    const worker = await serve({
      guard: (data) => {
        asked.add(data);
        return answer;
      },
    });
    await bindTrigger(worker, "stream:join", "guard", {});
    const socket = engine.openSocket("/");
    join(socket, { id: "a" });
    expect(await socket.next()).toMatchObject({ event: { type: "sync" } });
    expect(asked.items).toEqual([{ subscription_id: "1", stream_name: "s", group_id: "g", id: "a", context: null }]);
  });

  const refusing: readonly (readonly [string, () => unknown])[] = [
    ["answers unauthorized", () => ({ unauthorized: true })],
    ["answers unauthorized in other words", () => ({ unauthorized: "yes" })],
    ["answers a text", () => "no"],
    ["answers false", () => false],
    ["answers an array", () => []],
    [
      "fails",
      () => {
        throw new Error("boom");
      },
    ],
  ];
  it.each(refusing)("refuse when one of them %s, whatever the others say (gap 42)", async (_what, guard) => {
    await set("1", "secret");
    const worker = await serve({ guard, friendly: () => ({}) });
    await bindTrigger(worker, "stream:join", "friendly", {});
    await bindTrigger(worker, "stream:join", "guard", { stream_name: "s", group_id: "g" });
    const plain = engine.openSocket("/");
    join(plain);
    expect(await plain.next()).toMatchObject({ streamName: "s", groupId: "g", event: { type: "unauthorized" } });
    const extended = extendedClient();
    join(extended);
    const { data } = (await extended.next(typeIs("error"))) as unknown as Refused;
    expect(data).toMatchObject({ code: "FORBIDDEN", subscriptionId: "1" });
    expect(data.message).not.toContain("boom");
    await set("1", "more secrets");
    expect(plain.received.concat(extended.received).join()).not.toContain("secret");
    join(plain, { streamName: "other" });
    expect(await plain.next()).toMatchObject({ event: { type: "sync" } });
  });

  it("refuse when one does not answer in time, is not there, or its worker is away (gap 42)", async () => {
    const asked = new Collected<unknown>();
    const worker = await serve({
      slow: (data) => {
        asked.add(data);
        return new Promise(() => {});
      },
    });
    await bindTrigger(worker, "stream:join", "slow", {});
    const socket = extendedClient();
    join(socket);
    await asked.count(1);
    clock.advance(5_100);
    expect(await socket.next(typeIs("error"))).toMatchObject({ data: { message: "the join could not be checked" } });
    worker.close();
    join(socket);
    expect(await socket.next(typeIs("error"))).toMatchObject({ data: { code: "FORBIDDEN" } });
  });

  it("have no say where their filters or their condition leave them out, and a condition that fails refuses", async () => {
    const worker = await serve({
      refuse: () => ({ unauthorized: true }),
      wants: (data) => {
        const { group_id } = data as { group_id: string };
        if (group_id === "broken") throw new Error("boom");
        return group_id === "vault";
      },
    });
    await bindTrigger(worker, "stream:join", "refuse", { stream_name: "other" });
    await bindTrigger(worker, "stream:join", "refuse", { stream_name: "s", condition_function_id: "wants" });
    const socket = engine.openSocket("/");
    const eventOf = async (groupId: string, streamName = "s") => {
      join(socket, { groupId, streamName });
      return ((await socket.next()) as { event: { type: string } }).event.type;
    };
    expect(await eventOf("open")).toBe("sync");
    expect(await eventOf("vault")).toBe("unauthorized");
    expect(await eventOf("broken")).toBe("unauthorized");
    expect(await eventOf("open", "other")).toBe("unauthorized");
  });

  it("must be there for streams that are guarded", async () => {
    await engine.stop();
    await start({ guarded_streams: ["rooms*"] });
    const socket = engine.openSocket("/");
    join(socket, { streamName: "rooms-1" });
    expect(await socket.next()).toMatchObject({ event: { type: "unauthorized" } });
    const worker = await serve({ guard: () => ({}) });
    await bindTrigger(worker, "stream:join", "guard", { stream_name: "rooms-1" });
    join(socket, { streamName: "rooms-1" });
    expect(await socket.next()).toMatchObject({ event: { type: "sync" } });
    join(socket, { streamName: "rooms-2" });
    expect(await socket.next()).toMatchObject({ event: { type: "unauthorized" } });
  });
});

describe("triggers of type stream:leave", () => {
  it("receive one notification for each subscription that was admitted, however it ended (R-5)", async () => {
    const told = new Collected<unknown>();
    const worker = await serve({
      told: (data) => told.add(data),
      guard: (data) => ({ unauthorized: (data as { group_id: string }).group_id === "no" }),
    });
    await bindTrigger(worker, "stream:join", "guard", {});
    await bindTrigger(worker, "stream:leave", "told", { stream_name: "s" });
    const socket = engine.openSocket("/");
    join(socket);
    await socket.next();
    join(socket, { subscriptionId: "refused", groupId: "no" });
    await socket.next();
    for (const subscriptionId of ["2", "3", "elsewhere"]) {
      join(socket, { subscriptionId, id: "a", streamName: subscriptionId === "elsewhere" ? "t" : "s" });
      await socket.next();
    }
    join(socket, { subscriptionId: "never joined" }, "leave");
    join(socket, { subscriptionId: "2", id: "a" }, "leave");
    join(socket, { subscriptionId: "2", id: "a" }, "leave");
    expect(await told.count(1)).toEqual([
      { subscription_id: "2", stream_name: "s", group_id: "g", id: "a", context: null },
    ]);
    socket.close();
    const all = (await told.count(3)) as readonly { subscription_id: string }[];
    expect(all.map(({ subscription_id }) => subscription_id).sort()).toEqual(["1", "2", "3"]);
  });

  it("are called for subscriptions that end because the module restarts (R-5)", async () => {
    const told = new Collected<unknown>();
    const worker = await serve({ told: (data) => told.add(data) });
    await bindTrigger(worker, "stream:leave", "told", {});
    const socket = engine.openSocket("/");
    for (let number = 0; number < 50; number++) {
      join(socket, { subscriptionId: `${number}` });
      await socket.next();
    }
    expect(
      await engine.applyModules([
        { name: "svc-stream", config: { adapter: { name: "in_memory" }, memory_streams: ["m"] } },
      ]),
    ).toEqual([]);
    expect(told.items).toHaveLength(50);
  });
});

describe("the function that decides who may connect", () => {
  const closedOf = async (authFunction: (data: unknown) => unknown) => {
    await engine.stop();
    await start({ auth_function: "who" });
    await set("1", "secret");
    await serve({ who: authFunction });
    const socket = engine.openSocket("/stream/s/g", {
      query: { key: ["k"] },
      headers: { "x-team": "t" },
      address: "10.0.0.1:5",
    });
    return { socket, closed: await Promise.race([socket.closed, socket.next().then(() => "let in")]) };
  };

  it("lets in by its answer, whose context triggers are given", async () => {
    await engine.stop();
    await start({ auth_function: "who" });
    const asked = new Collected<unknown>();
    const joins = new Collected<unknown>();
    const worker = await serve({
      who: (data) => {
        asked.add(data);
        return { context: { user: "ada" } };
      },
      guard: (data) => {
        joins.add(data);
        return null;
      },
    });
    await bindTrigger(worker, "stream:join", "guard", {});
    const socket = engine.openSocket("/stream/s/g", {
      query: { key: ["k", "l"] },
      headers: { "x-team": "t" },
      address: "10.0.0.1:5",
    });
    expect(await socket.next()).toMatchObject({ event: { type: "sync" } });
    expect(asked.items).toEqual([
      { headers: { "x-team": "t" }, path: "/stream/s/g", query_params: { key: ["k", "l"] }, addr: "10.0.0.1:5" },
    ]);
    expect(joins.items).toMatchObject([{ context: { user: "ada" } }]);
    join(socket, { streamName: "svc.stream.messages", groupId: "all" });
    expect(await socket.next()).toMatchObject({ event: { type: "unauthorized" } });
  });

  it("lets into the engine's own streams only when it says so, and is not asked about holders of the engine's token", async () => {
    await engine.stop();
    await start({ auth_function: "who" });
    const trusted = engine.openSocket("/", { trusted: true });
    join(trusted, { streamName: "svc.stream.messages", groupId: "all" });
    expect(await trusted.next()).toMatchObject({ event: { type: "sync" } });
    trusted.close();
    await serve({ who: () => ({ context: null, system_streams: true }) });
    const socket = engine.openSocket("/");
    join(socket, { streamName: "svc.stream.messages", groupId: "all" });
    expect(await socket.next()).toMatchObject({ event: { type: "sync" } });
  });

  const refusals: readonly (readonly [string, number, (data: unknown) => unknown])[] = [
    ["answers unauthorized", 4403, () => ({ unauthorized: true })],
    ["answers nothing", 4401, () => undefined],
    ["answers something else", 4401, () => ({ error: "no such user" })],
    ["answers true", 4401, () => true],
    [
      "fails",
      4401,
      () => {
        throw new Error("boom");
      },
    ],
  ];
  it.each(refusals)(
    "that %s closes the connection with %i, and not an item goes out (gap 42)",
    async (_what, code, authFunction) => {
      const { socket, closed } = await closedOf(authFunction);
      expect(closed).toMatchObject({ code });
      expect(socket.received).toEqual([]);
      expect((closed as { reason: string }).reason).not.toContain("boom");
    },
  );

  it("that nobody provides, or a restricted connection alone, closes it too (gap 42)", async () => {
    await engine.stop();
    await start({ auth_function: "who" });
    expect(await engine.openSocket("/").closed).toMatchObject({ code: 4401 });
    const guest = await engine.connectWorker({ access: accessTo([]) });
    guest.serve("who", () => ({ context: "let in", system_streams: true }));
    guest.say({ type: "ping" });
    await guest.next((frame) => frame.type === "pong");
    expect(await engine.openSocket("/").closed).toMatchObject({ code: 4401 });
  });

  it("that is configured while clients are connected is asked about them as well", async () => {
    const socket = engine.openSocket("/");
    join(socket);
    await socket.next();
    const problems = await engine.applyModules([
      { name: "svc-stream", config: { adapter: { name: "in_memory" }, auth_function: "who" } },
    ]);
    expect(problems).toEqual([]);
    expect(await socket.closed).toBeDefined();
    expect(await engine.openSocket("/").closed).toMatchObject({ code: 4401 });
  });
});
