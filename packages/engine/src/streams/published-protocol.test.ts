import { describe, expect, it } from "vitest";
import type { StreamEvent, StreamSource } from "../kernel/stream-contract.ts";
import { inMemoryEngine } from "../testing/index.ts";
import { memoryStreams } from "./testing/memory-streams.ts";

const event = (id: string | null, json: string, more: Partial<StreamEvent> = {}): StreamEvent => ({
  stream: "todos",
  group: "g",
  id,
  type: "update",
  json,
  version: undefined,
  ...more,
});

async function scene(source: Partial<StreamSource> = {}) {
  const engine = await inMemoryEngine();
  const streams = memoryStreams(engine.kernel.streams, source);
  const socket = engine.openSocket("/");
  const join = (subscriptionId: string, more: object = {}): Promise<Record<string, unknown>> => {
    socket.say({ type: "join", data: { subscriptionId, streamName: "todos", groupId: "g", ...more } });
    return socket.next();
  };
  return { engine, streams, socket, join };
}

describe("the published protocol", () => {
  it("answers a join with what there is, then sends events, and no more after a leave", async () => {
    const engine = await inMemoryEngine();
    const streams = memoryStreams(engine.kernel.streams);
    streams.write("todos", "g", "a", "1");
    const socket = engine.openSocket("/");
    socket.say({ type: "join", data: { subscriptionId: "s", streamName: "todos", groupId: "g" } });
    expect(await socket.next()).toEqual({
      type: "stream",
      timestamp: expect.any(Number),
      streamName: "todos",
      groupId: "g",
      id: null,
      event: { type: "sync", data: [1] },
    });
    streams.write("todos", "g", "a", "12345678901234567890");
    streams.publish(event(null, '{"type":"typing","data":{"who":"x"}}', { type: "event" }));
    streams.publish(event("a", "0", { group: "other" }));
    expect(socket.received.splice(0).map((text) => text.replace(/"timestamp":\d+/, '"timestamp":0'))).toEqual([
      '{"type":"stream","timestamp":0,"streamName":"todos","groupId":"g","id":"a","event":{"type":"update","data":12345678901234567890}}',
      '{"type":"stream","timestamp":0,"streamName":"todos","groupId":"g","id":null,"event":{"type":"event","event":{"type":"typing","data":{"who":"x"}}}}',
    ]);
    socket.say({ type: "leave", data: { subscriptionId: "s", streamName: "todos", groupId: "g" } });
    streams.write("todos", "g", "a", "3");
    expect(socket.take()).toEqual([]);
    expect(streams.left).toEqual(["s"]);
  });

  it("has one message for each subscription that matches; events of the whole group are not for those of one item", async () => {
    const { streams, socket, join } = await scene();
    streams.write("todos", "g", "a", "1");
    await join("group");
    expect(await join("item", { id: "a" })).toMatchObject({ id: "a", event: { type: "sync", data: 1 } });
    expect(await join("none", { id: "b" })).toMatchObject({ id: "b", event: { type: "sync", data: null } });
    streams.write("todos", "g", "a", "2");
    streams.publish(event(null, '{"type":"x","data":0}', { type: "event" }));
    expect(socket.take()).toMatchObject([
      { id: "a", event: { type: "update", data: 2 } },
      { id: "a", event: { type: "update", data: 2 } },
      { id: null, event: { type: "event" } },
    ]);
  });

  it("tells of each subscription's end once: by a leave, by its place being taken, or with the connection", async () => {
    const { streams, socket, join } = await scene();
    for (const name of ["a", "b", "c"]) await join(name);
    socket.say({ type: "leave", data: { subscriptionId: "a" } });
    socket.say({ type: "leave", data: { subscriptionId: "a" } });
    socket.say({ type: "leave", data: { subscriptionId: "never" } });
    await join("b");
    expect(streams.left).toEqual(["a", "b"]);
    socket.close();
    socket.close();
    expect([...streams.left].sort()).toEqual(["a", "b", "b", "c"]);
  });

  it("says `unauthorized` to every join that is not to be, and the connection stays", async () => {
    const { engine, socket } = await scene({
      admit: ({ stream }) =>
        stream === "open" ? Promise.resolve(undefined) : Promise.resolve({ refusal: "not yours" }),
    });
    for (const streamName of ["secret", "svc.nothing"]) {
      socket.say({ type: "join", data: { subscriptionId: streamName, streamName, groupId: "g" } });
      expect(await socket.next()).toEqual({
        type: "stream",
        timestamp: expect.any(Number),
        streamName,
        groupId: "g",
        id: null,
        event: { type: "unauthorized" },
      });
    }
    socket.say({ type: "join", data: { subscriptionId: "s", streamName: "open", groupId: "g" } });
    expect(await socket.next()).toMatchObject({ streamName: "open", event: { type: "sync" } });
    expect(engine.logs.filter(({ level }) => level === "error")).toEqual([]);
  });

  it.each([
    ["rejects", () => Promise.reject(new Error("boom"))],
    [
      "throws",
      () => {
        throw new Error("boom");
      },
    ],
  ])("refuses a join when its source %s (gap 42)", async (_how, admit) => {
    const { streams, socket } = await scene({ admit });
    socket.say({ type: "join", data: { subscriptionId: "s", streamName: "todos", groupId: "g" } });
    expect(await socket.next()).toMatchObject({ event: { type: "unauthorized" } });
    streams.write("todos", "g", "a", "1");
    expect(socket.take()).toEqual([]);
    socket.close();
    expect(streams.left).toEqual([]);
  });

  it("tells of the end of a join that was let in after its client had gone", async () => {
    let letIn = (): void => {};
    const { streams, socket } = await scene({
      admit: () => new Promise((resolve) => (letIn = () => resolve(undefined))),
    });
    socket.say({ type: "join", data: { subscriptionId: "s", streamName: "todos", groupId: "g" } });
    await Promise.resolve();
    socket.close();
    expect(streams.left).toEqual([]);
    letIn();
    await new Promise((resolve) => setImmediate(resolve));
    expect(streams.left).toEqual(["s"]);
  });

  it("has no answer to what cannot be understood, and ends with the hundredth (1.4)", async () => {
    const { socket, join } = await scene();
    const nonsense = [
      "{oops",
      '{"type":"jump"}',
      '{"type":"ping"}',
      '{"type":"join","data":{"streamName":"x"}}',
      "[".repeat(30_000),
      '"\\ud800"',
      "null",
    ];
    for (let said = 0; said < 99; said++) socket.send(nonsense[said % nonsense.length] as string);
    for (const empty of ["", "  \n"]) socket.send(empty);
    expect(socket.take()).toEqual([]);
    expect(await join("s")).toMatchObject({ event: { type: "sync" } });
    socket.send("{oops");
    expect(socket.ended).toMatchObject({ code: 1008 });
  });

  it("takes names that a prototype has", async () => {
    const { streams, socket } = await scene();
    streams.write("__proto__", "constructor", "__proto__", "1");
    socket.say({
      type: "join",
      data: { subscriptionId: "__proto__", streamName: "__proto__", groupId: "constructor" },
    });
    expect(await socket.next()).toMatchObject({ streamName: "__proto__", event: { type: "sync", data: [1] } });
    socket.say({ type: "join", data: { subscriptionId: "toString", streamName: "toString", groupId: "valueOf" } });
    expect(await socket.next()).toMatchObject({ streamName: "toString", event: { type: "sync", data: [] } });
  });

  it("joins at once under a path that names a stream", async () => {
    const { engine, streams } = await scene();
    streams.write("to dos", "gr-üp", "1", '"x"');
    for (const path of [
      "/stream/to%20dos/gr-%C3%BCp",
      "/stream/to%20dos/gr-%C3%BCp/",
      "/stream/to%20dos/gr-%C3%BCp/1",
    ]) {
      const socket = engine.openSocket(path);
      expect(await socket.next()).toMatchObject({ streamName: "to dos", groupId: "gr-üp", event: { type: "sync" } });
      socket.close();
    }
    expect(streams.left).toEqual([
      "/stream/to%20dos/gr-%C3%BCp",
      "/stream/to%20dos/gr-%C3%BCp",
      "/stream/to%20dos/gr-%C3%BCp/1",
    ]);
  });

  it.each([
    "/stream",
    "/stream/",
    "/stream/a",
    "/stream/a/",
    "/stream/a//",
    "/stream/a/b/c/d",
    "/stream/a/%",
    "/stream/a/%2F",
    "/stream/a/..",
    "/stream/a/%00",
    "/x",
    "//",
    "",
  ])("is not spoken at the path %j", async (path) => {
    const { engine } = await scene();
    expect(engine.kernel.streams.serves(path)).toBe(false);
  });
});
