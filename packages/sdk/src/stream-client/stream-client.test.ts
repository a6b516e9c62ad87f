import { tokenOfSubprotocols } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { connectStreams as connectPage } from "../browser.ts";
import { silentLogger } from "../logger.ts";
import { connectStreams, type NodeStreamClientOptions } from "../node.ts";
import { type ScriptedConnection, ScriptedStreams } from "./scripted-streams.test.support.ts";
import type { StreamClient } from "./stream-client.ts";
import type { StreamUpdate } from "./stream-handlers.ts";

const fast = { initialDelayMs: 5, maxDelayMs: 20 };
let engine: ScriptedStreams;
const clients: StreamClient[] = [];

beforeEach(async () => {
  engine = await ScriptedStreams.start();
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await engine.stop();
});

function open(options: NodeStreamClientOptions = {}): StreamClient {
  const client = connectStreams({ url: engine.url, logger: silentLogger, reconnect: fast, ...options });
  clients.push(client);
  return client;
}

/** Records everything that a group's subscription reports, and lets a test wait for it. */
function notebook() {
  const reported: unknown[] = [];
  const write = (what: unknown): void => {
    reported.push(what);
  };
  return {
    reported,
    handlers: {
      onSync: (data: unknown, { seq }: { readonly seq: number }) => write(["sync", seq, data]),
      onEvent: (update: StreamUpdate) =>
        write(
          update.type === "event"
            ? ["event", update.seq, update.event]
            : [update.type, update.seq, update.id, update.data],
        ),
      onGap: (gap: unknown) => write(["gap", gap]),
      onError: ({ code }: { readonly code: string }) => write(["error", code]),
      onStatus: (status: string) => write(status),
    },
    until: (entry: unknown) => vi.waitFor(() => expect(reported).toContainEqual(entry), { timeout: 20_000 }),
  };
}

const group = { streamName: "todos", groupId: "g" };

async function greeted(number = 1, epoch = "first"): Promise<ScriptedConnection> {
  const connection = await engine.connection(number);
  await connection.welcome(epoch);
  return connection;
}

describe("a stream client", () => {
  it("sends hello, joins after the welcome, and delivers the items and their changes", async () => {
    const client = open();
    const notes = notebook();
    const subscription = client.subscribe(group, notes.handlers);
    const connection = await engine.connection();
    expect(await connection.message("hello")).toEqual({ type: "hello", data: { version: 1 } });
    expect(connection.received).toHaveLength(1);
    await connection.welcome();
    await client.connected();
    const join = await connection.message("join");
    expect(join.data).toEqual({ subscriptionId: "s1", ...group });
    await connection.admit(join, 3, [{ n: 1 }]);
    connection.event(["s1"], 4, { type: "create", data: { n: 2 } }, { id: "b", version: 1 });
    connection.event(["s1"], 5, { type: "event", event: { type: "cheer", data: "!" } });
    connection.event(["s1"], 6, { type: "delete", data: { n: 2 } }, { id: "b", version: 2 });
    await notes.until(["delete", 6, "b", { n: 2 }]);
    expect(notes.reported).toEqual([
      ["sync", 3, [{ n: 1 }]],
      "live",
      ["create", 4, "b", { n: 2 }],
      ["event", 5, { type: "cheer", data: "!" }],
      ["delete", 6, "b", { n: 2 }],
    ]);
    expect([subscription.status, subscription.seq]).toEqual(["live", 6]);
  });

  it("resumes after a lost connection, with each event once (gap 41)", async () => {
    const client = open();
    const notes = notebook();
    client.subscribe(group, notes.handlers);
    const first = await greeted();
    await first.admit(await first.message("join"), 3, []);
    first.event(["s1"], 4, { type: "create", data: 4 }, { id: "a" });
    await notes.until(["create", 4, "a", 4]);
    first.socket.terminate();

    const second = await greeted(2);
    const join = await second.message("join");
    expect(join.data).toEqual({ subscriptionId: "s1", ...group, since: { epoch: "first", seq: 4 } });
    second.send({ type: "joined", data: { subscriptionId: "s1", ...group, id: null, seq: 6, resumed: true } });
    for (const seq of [4, 5, 5, 6, 4]) second.event(["s1"], seq, { type: "update", data: seq }, { id: "a" });
    await notes.until(["update", 6, "a", 6]);
    second.event(["s1"], 7, { type: "update", data: 7 }, { id: "a" });
    await notes.until(["update", 7, "a", 7]);
    expect(notes.reported).toEqual([
      ["sync", 3, []],
      "live",
      ["create", 4, "a", 4],
      "joining",
      "live",
      ["update", 5, "a", 5],
      ["update", 6, "a", 6],
      ["update", 7, "a", 7],
    ]);
  });

  it("replaces its items by the sync after a gap, and accepts a restarted engine's lower numbers (gap 41)", async () => {
    const client = open();
    const notes = notebook();
    client.subscribe(group, notes.handlers);
    const first = await greeted();
    await first.admit(await first.message("join"), 50, ["old"]);
    await notes.until(["sync", 50, ["old"]]);
    first.socket.terminate();

    const second = await greeted(2, "second");
    await second.message("join");
    second.send({ type: "joined", data: { subscriptionId: "s1", ...group, id: null, seq: 2, resumed: false } });
    const gap = { since: 50, seq: 2, reason: "restarted" };
    second.send({ type: "gap", data: { subscriptionId: "s1", ...group, ...gap } });
    // The sync contains the events before it.
    second.event(["s1"], 2, { type: "update", data: "early" }, { id: "a" });
    second.event(["s1"], 2, { type: "sync", data: ["new"] });
    second.event(["s1"], 3, { type: "update", data: "later" }, { id: "a" });
    await notes.until(["update", 3, "a", "later"]);
    expect(notes.reported.slice(2)).toEqual([
      "joining",
      ["gap", gap],
      ["sync", 2, ["new"]],
      "live",
      ["update", 3, "a", "later"],
    ]);
  });

  it("delivers a message to all subscriptions that it names, and to no other", async () => {
    const client = open();
    const [all, one, other] = [notebook(), notebook(), notebook()];
    client.subscribe(group, all.handlers);
    client.subscribe({ ...group, id: "a" }, one.handlers);
    client.subscribe({ ...group, id: "b" }, other.handlers);
    const connection = await greeted();
    for (const number of [1, 2, 3])
      await connection.admit(await connection.message("join", number), 0, number === 1 ? [] : null);
    connection.event(["s1", "s2", "left"], 1, { type: "create", data: 1 }, { id: "a" });
    connection.event(["s1", "s3"], 2, { type: "create", data: 2 }, { id: "b" });
    await other.until(["create", 2, "b", 2]);
    expect(all.reported.slice(2)).toEqual([
      ["create", 1, "a", 1],
      ["create", 2, "b", 2],
    ]);
    expect(one.reported.slice(2)).toEqual([["create", 1, "a", 1]]);
    expect(one.reported[0]).toEqual(["sync", 0, null]);
  });

  it("resumes from the engine's position, even if its item did not change", async () => {
    const client = open();
    const notes = notebook();
    const subscription = client.subscribe({ ...group, id: "a" }, notes.handlers);
    const first = await greeted();
    await first.admit(await first.message("join"), 3, null);
    const positions = [{ subscriptionId: "s1", seq: 40 }, { subscriptionId: "left", seq: 9 }, null];
    first.send({ type: "heartbeat", timestamp: 1, positions });
    first.send({ type: "heartbeat", timestamp: 2 });
    await expect.poll(() => subscription.seq).toBe(40);
    first.socket.terminate();
    const second = await greeted(2);
    expect((await second.message("join")).data).toMatchObject({ since: { epoch: "first", seq: 40 } });
  });

  it("leaves, and delivers nothing afterwards", async () => {
    const client = open();
    const [left, stays] = [notebook(), notebook()];
    const subscription = client.subscribe(group, left.handlers);
    client.subscribe(group, stays.handlers);
    const connection = await greeted();
    for (const number of [1, 2]) await connection.admit(await connection.message("join", number), 0, []);
    await left.until("live");
    subscription.leave();
    subscription.leave();
    expect(await connection.message("leave")).toEqual({ type: "leave", data: { subscriptionId: "s1", ...group } });
    await stays.until("live");
    connection.event(["s1", "s2"], 1, { type: "create", data: 1 }, { id: "a" });
    await stays.until(["create", 1, "a", 1]);
    expect(left.reported).toEqual([["sync", 0, []], "live", "closed"]);
    expect(connection.received.filter(({ type }) => type === "leave")).toHaveLength(1);
  });

  it("does not join a subscription that was left before the connection", async () => {
    const client = open();
    client.subscribe(group, {}).leave();
    client.subscribe({ ...group, id: "x" }, {});
    const connection = await greeted();
    expect((await connection.message("join")).data).toMatchObject({ subscriptionId: "s2" });
  });

  it("retries a rejected join, unless it is malformed", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const client = open();
      const [later, never] = [notebook(), notebook()];
      client.subscribe(group, later.handlers);
      client.subscribe({ ...group, id: "x" }, never.handlers);
      const connection = await greeted();
      await connection.message("join", 2);
      connection.send({ type: "error", data: { code: "FORBIDDEN", message: "not you", subscriptionId: "s1" } });
      connection.event(["s1"], 0, { type: "unauthorized" });
      connection.send({ type: "error", data: { code: "invalid_name", message: "no", subscriptionId: "s2" } });
      while (!never.reported.includes("closed")) await new Promise((resolve) => setImmediate(resolve));
      expect(later.reported).toEqual(["refused", ["error", "FORBIDDEN"]]);
      expect(never.reported).toEqual([["error", "invalid_name"], "closed"]);
      await vi.advanceTimersByTimeAsync(1_300);
      const again = await connection.message("join", 3);
      expect(again.data).toMatchObject({ subscriptionId: "s1" });
      expect(connection.received.filter(({ type }) => type === "join")).toHaveLength(3);
      await connection.admit(again, 1, []);
      while (!later.reported.includes("live")) await new Promise((resolve) => setImmediate(resolve));
    } finally {
      vi.useRealTimers();
    }
  });

  it("does not reconnect after close code 4403 (gap 42)", async () => {
    const client = open();
    const notes = notebook();
    client.subscribe(group, notes.handlers);
    const waiting = client.connected();
    const connection = await engine.connection();
    await connection.message("hello");
    connection.socket.close(4403, "not you");
    await expect(waiting).rejects.toMatchObject({ code: "disconnected", message: expect.stringContaining("not you") });
    expect(client.connectionState).toBe("failed");
    expect(notes.reported).toEqual([["error", "disconnected"], "closed"]);
    expect(client.subscribe(group, {}).status).toBe("closed");
    expect(engine.connections).toBe(1);
  });

  it("reconnects after every other close, and when the hello is rejected", async () => {
    const client = open();
    (await greeted()).socket.close(4008, "too slow");
    (await engine.connection(2)).socket.close(4401, "whoever knows you is not there yet");
    const third = await engine.connection(3);
    await third.message("hello");
    third.send({ type: "error", data: { code: "invalid_message", message: "hello?" } });
    await greeted(4);
    await client.connected();
  });

  it("ignores malformed messages and errors of handlers", async () => {
    const client = open();
    const notes = notebook();
    client.subscribe(group, {
      onSync: () => {
        throw new Error("the page's own");
      },
      onEvent: () => {
        throw new Error("the page's own");
      },
    });
    client.subscribe(group, notes.handlers);
    const connection = await greeted();
    for (const number of [1, 2]) await connection.admit(await connection.message("join", number), 0, []);
    for (const text of [
      "",
      "{oops",
      "null",
      "[]",
      "7",
      '{"type":7}',
      '{"type":"stream"}',
      '{"type":"gap"}',
      '{"type":"joined","data":7}',
      '{"type":"later"}',
    ])
      connection.send(text);
    connection.send({ type: "stream", seq: 1, subscriptionIds: ["s2"], event: { type: "event", event: null } });
    connection.send({ type: "stream", seq: 1, subscriptionIds: ["s2"], event: { type: "jump", data: 1 } });
    connection.event(["s1", "s2"], 1, { type: "create", data: 1 }, { id: "a" });
    await notes.until(["create", 1, "a", 1]);
    expect(notes.reported).toEqual([["sync", 0, []], "live", ["create", 1, "a", 1]]);
  });

  it("rejects invalid names, and joins after its close", async () => {
    const client = open();
    expect(() => client.subscribe({ streamName: "", groupId: "g" }, {})).toThrow(TypeError);
    expect(() => client.subscribe({ streamName: "s", groupId: 7 as never }, {})).toThrow(TypeError);
    expect(() => client.subscribe({ ...group, id: "" }, {})).toThrow("1 to 1024 characters");
    const notes = notebook();
    client.subscribe(group, notes.handlers);
    await client.close();
    expect(notes.reported).toEqual(["closed"]);
    expect(() => client.subscribe(group, {})).toThrow("was closed");
  });

  it("sends token, headers and query on Node as a header and in the address", async () => {
    open({ token: "t0ken", headers: { "x-user": "ann" }, query: { room: "a b" } });
    const { request } = await engine.connection();
    expect(request.headers).toMatchObject({ authorization: "Bearer t0ken", "x-user": "ann" });
    expect(request.url).toBe("/?room=a+b");
    expect(() => connectStreams({ url: "http://x" })).toThrow("the streams' address must begin with ws://");
  });

  it("sends its token as a subprotocol from a page", async () => {
    // `ws` replaces the platform's WebSocket, since it has the same interface. An e2e test uses a real browser.
    const platform = globalThis as { WebSocket?: unknown };
    const before = platform.WebSocket;
    platform.WebSocket = WebSocket;
    try {
      const page = connectPage({
        url: engine.url,
        token: "sécret",
        query: { a: "1" },
        logger: silentLogger,
        reconnect: fast,
      });
      clients.push(page);
      const connection = await greeted();
      await page.connected();
      expect(tokenOfSubprotocols(connection.request.headers["sec-websocket-protocol"])).toBe("sécret");
      expect(connection.request.url).toBe("/?a=1");
      connection.socket.close(4403);
      await expect.poll(() => page.connectionState).toBe("failed");
    } finally {
      platform.WebSocket = before;
    }
  });
});
