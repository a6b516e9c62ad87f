import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { memoryStreams } from "../streams/testing/memory-streams.ts";
import { inMemoryEngine, manualClock } from "../testing/index.ts";
import { Realtime } from "./realtime.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** Real sockets on the hub of a real kernel. The engine's clock stands still. */
async function scene(options: { readonly isReady?: () => boolean } = {}) {
  const clock = manualClock();
  const engine = await inMemoryEngine({ clock });
  const realtime = new Realtime(
    clock,
    () => ({ allowedOrigins: [], allowedHosts: [] }),
    engine.kernel.log,
    engine.kernel.streams,
    options,
  );
  await realtime.listener.bind({ host: "127.0.0.1", port: 0 });
  undo.push(() => realtime.listener.close());
  const streams = memoryStreams(engine.kernel.streams);
  const { port } = realtime.listener;
  return { clock, engine, streams, port, url: `ws://127.0.0.1:${port}` };
}

interface Client {
  readonly socket: WebSocket;
  readonly messages: Record<string, unknown>[];
  say(message: unknown): void;
  /** Resolves with the first message, past or future, that `wanted` accepts. */
  next(wanted: (message: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
}

async function open(url: string): Promise<Client> {
  const socket = new WebSocket(url);
  undo.push(() => socket.terminate());
  const messages: Record<string, unknown>[] = [];
  const watchers = new Set<() => void>();
  socket.on("error", () => {});
  socket.on("message", (data) => {
    messages.push(JSON.parse(String(data)) as Record<string, unknown>);
    for (const watcher of watchers) watcher();
  });
  await once(socket, "open");
  return {
    socket,
    messages,
    say: (message) => socket.send(JSON.stringify(message)),
    next: (wanted) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = messages.find(wanted);
          if (found === undefined) return;
          watchers.delete(look);
          resolve(found);
        };
        watchers.add(look);
        look();
      }),
  };
}

const join = (more: object = {}): object => ({
  type: "join",
  data: { subscriptionId: "s", streamName: "todos", groupId: "g", ...more },
});
const isSync = ({ event }: Record<string, unknown>): boolean =>
  (event as { type?: string } | undefined)?.type === "sync";

/**
 * A WebSocket client without a library: it completes the handshake, joins, and then does nothing, not even respond to
 * pings.
 */
async function dumbClient(port: number, messages: readonly object[]): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  undo.push(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(
    `GET / HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\n\r\n`,
  );
  await once(socket, "data");
  for (const message of messages) socket.write(maskedText(JSON.stringify(message)));
  return socket;
}

/** A short text frame of a client; RFC 6455, section 5.2. The mask is all zeros. */
function maskedText(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}

describe("streams over real sockets", () => {
  it("takes binary frames as text, of any text, and closes with 1009 over 64 KiB (1.4)", async () => {
    const { streams, url } = await scene();
    streams.write("tödos", "g", "a", '"日本"');
    const { socket, next } = await open(`${url}/?room=x`);
    socket.send(Buffer.from(JSON.stringify(join({ streamName: "tödos" }))), { binary: true });
    expect(await next(isSync)).toMatchObject({ streamName: "tödos", event: { data: ["日本"] } });
    socket.send(randomBytes(1_000), { binary: true });
    socket.send("");
    streams.write("tödos", "g", "a", '"語"');
    expect(await next(({ id }) => id === "a")).toMatchObject({ event: { data: "語" } });
    const closed = once(socket, "close");
    socket.send("x".repeat(64 * 1024 + 1));
    expect((await closed)[0]).toBe(1009);
    await expect.poll(() => streams.left).toEqual(["s"]);
  });

  it("holds no message that is too large while it comes: it closes at its first bytes, or pieces (1.4)", async () => {
    const { port } = await scene();
    const announced = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0]);
    const piece = (firstByte: number): Buffer =>
      Buffer.concat([Buffer.from([firstByte, 0xfe, 0x9c, 0x40, 0, 0, 0, 0]), Buffer.alloc(40_000, "x")]);
    for (const said of [announced, Buffer.concat([piece(0x01), piece(0x00)])]) {
      const client = await dumbClient(port, []);
      client.write(said);
      const [answer] = (await once(client, "data")) as [Buffer];
      expect([answer[0], answer.readUInt16BE(2)]).toEqual([0x88, 1009]);
    }
  });

  it("joins under a path, refuses other paths, and asks clients to come again before the engine is up", async () => {
    let isReady = false;
    const { url } = await scene({ isReady: () => isReady });
    const statusOf = async (path: string): Promise<number | undefined> => {
      const socket = new WebSocket(`${url}${path}`);
      socket.on("error", () => {});
      const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number | undefined }];
      return response.statusCode;
    };
    expect(await statusOf("/")).toBe(503);
    isReady = true;
    expect(await statusOf("/stream/todos")).toBe(404);
    expect(await statusOf("/stream/todos/%2e%2e")).toBe(404);
    const { next } = await open(`${url}/stream/todos/g/?x=1`);
    expect(await next(isSync)).toMatchObject({ streamName: "todos", groupId: "g" });
  });

  it("closes a client that does not read, or resyncs it, while others get everything (gap 40) (R-4) (1.4)", async () => {
    const { streams, url } = await scene();
    const [fast, plain, extended] = [await open(url), await open(url), await open(url)];
    extended.say({ type: "hello", data: { version: 1 } });
    for (const client of [fast, plain, extended]) {
      client.say(join());
      await client.next(isSync);
    }
    for (const slow of [plain, extended]) slow.socket.pause();
    const text = JSON.stringify("x".repeat(200_000));
    // More than the kernel's buffers of a connection can hold.
    const times = 150;
    for (let time = 1; time <= times; time++) {
      streams.write("todos", "g", "a", text);
      await new Promise((resolve) => setImmediate(resolve));
    }
    streams.write("todos", "g", "end", "1");
    await fast.next(({ id }) => id === "end");
    expect(fast.messages).toHaveLength(times + 2);
    expect(streams.left).toEqual(["s"]);

    const closed = once(plain.socket, "close");
    for (const slow of [plain, extended]) slow.socket.resume();
    expect((await closed)[0]).toBe(4008);
    const gap = await extended.next(({ type }) => type === "gap");
    expect(gap).toMatchObject({ data: { reason: "overflow", seq: times + 1 } });
    expect(await extended.next((message) => isSync(message) && message.seq === times + 1)).toMatchObject({
      event: { data: { length: 2 } },
    });
  });

  it("cuts off a client that has gone without a word, within 25 s, and its subscriptions are left once (R-5) (1.4)", async () => {
    const { clock, streams, port } = await scene();
    const socket = await dumbClient(port, [join()]);
    // The response to the join is the last thing that it reads.
    await once(socket, "data");
    const closed = once(socket, "close");
    clock.advance(20_000);
    expect(streams.left).toEqual([]);
    clock.advance(5_000);
    await closed;
    await new Promise((resolve) => setImmediate(resolve));
    expect(streams.left).toEqual(["s"]);
  });

  it("closes a client that floods, and others do not notice (1.4)", async () => {
    const { streams, url } = await scene();
    const [other, flood] = [await open(url), await open(url)];
    other.say(join());
    await other.next(isSync);
    const closed = once(flood.socket, "close");
    for (let said = 0; said < 3_000; said++) flood.say(join({ groupId: `g${said}`, subscriptionId: `s${said}` }));
    expect((await closed)[0]).toBe(1008);
    streams.write("todos", "g", "a", "1");
    expect(await other.next(({ id }) => id === "a")).toMatchObject({ event: { data: 1 } });
  });
});
