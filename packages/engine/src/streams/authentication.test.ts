import { describe, expect, it } from "vitest";
import type { StreamAuthentication, StreamClient, StreamSource } from "../kernel/stream-contract.ts";
import { inMemoryEngine, manualClock, type StreamSocketOptions } from "../testing/index.ts";
import { memoryStreams } from "./testing/memory-streams.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function scene(authenticate: StreamSource["authenticate"]) {
  const clock = manualClock();
  const engine = await inMemoryEngine({ clock });
  const streams = memoryStreams(engine.kernel.streams, { authenticate });
  streams.write("todos", "g", "a", "1");
  const open = (options?: StreamSocketOptions, path = "/") => {
    const socket = engine.openSocket(path, options);
    const join = (streamName = "todos", groupId = "g"): void =>
      socket.say({ type: "join", data: { subscriptionId: "s", streamName, groupId } });
    return { socket, join };
  };
  return { clock, engine, streams, open };
}

describe("the authentication of stream connections", () => {
  it("is asked with what the client gave, its answer goes with each join, and messages wait for it (gap 42)", async () => {
    let seen: StreamClient | undefined;
    let answer: (answer: StreamAuthentication) => void = () => {};
    const { streams, open } = await scene((client) => {
      seen = client;
      return new Promise((resolve) => (answer = resolve));
    });
    const { socket, join } = open(
      { headers: { authorization: "Bearer them" }, query: { room: ["a b"] }, address: "10.0.0.1:1" },
      "/stream/todos/g/a",
    );
    join();
    await turn();
    streams.write("todos", "g", "a", "2");
    expect(socket.take()).toEqual([]);
    expect(streams.asked).toEqual([]);
    expect(seen).toEqual({
      headers: { authorization: "Bearer them" },
      query: { room: ["a b"] },
      address: "10.0.0.1:1",
      path: "/stream/todos/g/a",
      trusted: false,
    });
    answer({ ok: true, context: { user: 7 }, systemStreams: false });
    expect(await socket.next()).toMatchObject({ id: "a", event: { type: "sync", data: 2 } });
    expect(await socket.next()).toMatchObject({ id: null, event: { type: "sync", data: [2] } });
    expect(streams.asked).toMatchObject([{ context: { user: 7 } }, { context: { user: 7 } }]);
    join("svc.stream.messages", "all");
    expect(await socket.next()).toMatchObject({ event: { type: "unauthorized" } });
  });

  it.each<[string, () => Promise<unknown>, number]>([
    ["refuses", () => Promise.resolve({ ok: false, code: 4403, reason: "not you" }), 4403],
    ["does not know it", () => Promise.resolve({ ok: false, code: 4401, reason: "who?" }), 4401],
    ["fails", () => Promise.reject(new Error("boom")), 4401],
    [
      "throws",
      () => {
        throw new Error("boom");
      },
      4401,
    ],
    ["answers nothing", () => Promise.resolve(undefined), 4401],
    ["answers null", () => Promise.resolve(null), 4401],
    ["answers something else", () => Promise.resolve({ ok: "yes", context: null }), 4401],
    ["forgets what it may join", () => Promise.resolve({ ok: true, context: null }), 4401],
  ])("that %s keeps the client out before it has seen anything (gap 42)", async (_how, authenticate, code) => {
    const { streams, open } = await scene(authenticate as unknown as StreamSource["authenticate"]);
    const { socket, join } = open();
    join();
    expect(await socket.closed).toMatchObject({ code });
    expect(socket.received).toEqual([]);
    expect(streams.asked).toEqual([]);
  });

  it("that takes more than 5 s keeps the client out, whatever it answers later (gap 42)", async () => {
    let answer: (answer: StreamAuthentication) => void = () => {};
    const { clock, open } = await scene(() => new Promise((resolve) => (answer = resolve)));
    const { socket, join } = open();
    join();
    await turn();
    clock.advance(5_000);
    expect(await socket.closed).toMatchObject({ code: 4401 });
    answer({ ok: true, context: null, systemStreams: true });
    await turn();
    expect(socket.received).toEqual([]);
  });

  it("closes a client that says too much before it is known", async () => {
    const { open } = await scene(() => new Promise(() => {}));
    const many = open().socket;
    for (let said = 0; said < 201; said++) many.say({ type: "ping" });
    expect(many.ended).toMatchObject({ code: 1008 });
    const much = open().socket;
    for (let said = 0; said < 5; said++) much.send(`"${"x".repeat(60_000)}"`);
    expect(much.ended).toMatchObject({ code: 1008 });
  });

  it("is not asked about holders of the engine's token, who may join the engine's streams, nor are others let in unasked when it begins", async () => {
    const engine = await inMemoryEngine();
    const early = engine.openSocket("/");
    const trustedEarly = engine.openSocket("/", { trusted: true });
    memoryStreams(engine.kernel.streams, {
      authenticate: () => Promise.resolve({ ok: true, context: null, systemStreams: true }),
    });
    expect(early.ended).toMatchObject({ code: 1012 });
    expect(engine.kernel.streams.authenticates).toBe(true);
    for (const socket of [trustedEarly, engine.openSocket("/", { trusted: true }), engine.openSocket("/")]) {
      socket.say({ type: "join", data: { subscriptionId: "s", streamName: "svc.stream.messages", groupId: "all" } });
      expect(await socket.next()).toMatchObject({ event: { type: "sync" } });
    }
  });

  it("lets nobody in unasked while whoever is to be asked starts again", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock });
    const { streams } = engine.kernel;
    const keeper = memoryStreams(streams, {
      authenticate: () => Promise.resolve({ ok: false, code: 4403, reason: "no" }),
    });
    keeper.stop();
    expect(streams.authenticates).toBe(true);
    expect(engine.openSocket("/stream/svc.functions/all").ended).toMatchObject({ code: 1012 });
    expect(engine.openSocket("/", { trusted: true }).ended).toBeUndefined();
    clock.advance(10_000);
    expect(streams.authenticates).toBe(false);
    expect(engine.openSocket("/").ended).toBeUndefined();
  });
});
