import { once } from "node:events";
import { type AddressInfo, createServer, type Socket as TcpSocket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CallError, type ChannelRef } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeEngine, type Frame } from "../fake-engine.test.support.ts";
import { silentLogger } from "../logger.ts";
import { ChannelReader, ChannelWriter, connect, type Worker } from "../node.ts";
import { channelAddress } from "./channel-connection.ts";
import { MAX_UNREAD_BYTES } from "./limits.ts";

const ID = "11111111-1111-4111-8111-111111111111";
const CHANNEL = { channel_id: "c-1", access_key: "k&y" };
const READ = { ...CHANNEL, direction: "read" } as const;
const WRITE = { ...CHANNEL, direction: "write" } as const;

let engine: FakeEngine;
let worker: Worker;

beforeEach(async () => {
  engine = await FakeEngine.start();
  engine.reply = (frame) =>
    frame.function_id === "engine::channels::create" && frame.invocation_id !== undefined
      ? {
          type: "invocationresult",
          invocation_id: frame.invocation_id,
          function_id: frame.function_id,
          result: { reader: READ, writer: WRITE },
        }
      : undefined;
  worker = connect(`${engine.address}/?tenant=a`, {
    name: "probe",
    logger: silentLogger,
    handleSignals: false,
    reconnect: { initialDelayMs: 1 },
  });
});

afterEach(async () => {
  await worker.shutdown({ timeoutMs: 1 });
  await engine.stop();
});

async function itemsOf(reader: ChannelReader): Promise<unknown[]> {
  const items: unknown[] = [];
  for await (const item of reader) items.push(typeof item === "string" ? item : Buffer.from(item).toString());
  return items;
}

/** Resolves when the other side has received this many bytes. */
async function received(
  end: { readonly socket: import("ws").WebSocket; readonly bytes: Buffer[] },
  total: number,
): Promise<void> {
  while (end.bytes.reduce((sum, { length }) => sum + length, 0) < total) await once(end.socket, "message");
}

describe("creating a channel", () => {
  it("calls the engine, sends the buffer size only if it is given, and connects neither end", async () => {
    const { reader, writer, readerRef, writerRef } = await worker.createChannel();
    await worker.createChannel({ bufferItems: 5 });
    const asked = engine.frames.filter(({ function_id }) => function_id === "engine::channels::create");
    expect(asked.map(({ data }) => data)).toEqual([{}, { buffer_size: 5 }]);
    expect(reader).toBeInstanceOf(ChannelReader);
    expect(writer).toBeInstanceOf(ChannelWriter);
    expect([readerRef, writerRef]).toEqual([READ, WRITE]);
    expect(engine.ends).toEqual([]);
  });

  it("rejects a result without a channel", async () => {
    engine.reply = (frame) => ({
      type: "invocationresult",
      invocation_id: frame.invocation_id,
      function_id: "f",
      result: { reader: WRITE, writer: READ },
    });
    await expect(worker.createChannel()).rejects.toMatchObject({ code: "invalid_message" });
  });

  it("writes an end into a payload as its ref", async () => {
    const { reader } = await worker.createChannel();
    void worker.callVoid({ function_id: "f", payload: { file: reader } });
    expect((await engine.frame({ function_id: "f" })).data).toEqual({ file: READ });
  });

  it("opens an end by a ref in a result, and rejects values that are not refs", () => {
    expect(worker.openChannel(READ)).toBeInstanceOf(ChannelReader);
    expect(worker.openChannel(WRITE)).toBeInstanceOf(ChannelWriter);
    expect(() => worker.openChannel({ channel_id: "x" } as unknown as ChannelRef)).toThrow(TypeError);
  });
});

describe("the address of an end", () => {
  it("is the engine's with its credentials and its path, without its query", () => {
    expect(channelAddress("ws://svc:TOKEN@host:1/?a=b", READ)).toBe(
      "ws://svc:TOKEN@host:1/ws/channels/c-1?key=k%26y&dir=read",
    );
    expect(channelAddress("wss://host/engine/", WRITE)).toBe("wss://host/engine/ws/channels/c-1?key=k%26y&dir=write");
  });
});

describe("a writer", () => {
  it("splits bytes at 65,536, keeps strings separate, and closes with 1000 after them", async () => {
    const writer = worker.openChannel(WRITE);
    await writer.send("head");
    await writer.write(new Uint8Array(150_000).fill(7));
    await writer.end();
    const end = await engine.end();
    expect(end.url).toBe("/ws/channels/c-1?key=k%26y&dir=write");
    expect(end.items).toEqual(["head", { bytes: 65_536 }, { bytes: 65_536 }, { bytes: 18_928 }]);
    expect(Buffer.concat(end.bytes).every((byte) => byte === 7)).toBe(true);
    expect(await end.closed).toEqual([1000, ""]);
  });

  it("keeps the order of writes that are not awaited, and ends after them", async () => {
    const writer = worker.openChannel(WRITE);
    const writes = [writer.send("1"), writer.write(Buffer.from("2")), writer.send("3"), writer.end(), writer.end()];
    await Promise.all(writes);
    expect((await engine.end()).items).toEqual(["1", { bytes: 1 }, "3"]);
    await expect(writer.send("4")).rejects.toThrow("was ended");
  });

  it("makes a write wait while its reader reads nothing, and continues when it does", async () => {
    const writer = worker.openChannel(WRITE);
    await writer.send("open");
    const end = await engine.end();
    end.socket.pause();
    const big = new Uint8Array(24 * 1024 * 1024);
    let done = false;
    const write = writer.write(big).then(() => {
      done = true;
    });
    // The system's buffers accept some bytes. After that nothing more is sent.
    await worker.call({ function_id: "engine::channels::create" });
    expect(done).toBe(false);
    end.socket.resume();
    await write;
    await received(end, big.length - MAX_UNREAD_BYTES);
    await writer.end();
    expect(end.bytes.reduce((sum, { length }) => sum + length, 0)).toBe(big.length);
  });

  it("lets the rest of the process run while a loop writes small chunks as fast as it can", async () => {
    const writer = worker.openChannel(WRITE);
    await writer.send("open");
    let hadItsTurn = false;
    setImmediate(() => {
      hadItsTurn = true;
    });
    let writes = 0;
    while (!hadItsTurn && writes < 10_000) {
      await writer.send("x");
      writes++;
    }
    expect(writes).toBeLessThan(1_000);
    await writer.end();
  });

  it("rejects writes when over 64 MiB of earlier writes are unsent", async () => {
    const writer = worker.openChannel(WRITE);
    await writer.send("open");
    (await engine.end()).socket.pause();
    const first = writer.write(new Uint8Array(65 * 1024 * 1024)).catch((error: unknown) => error);
    await expect(writer.write(new Uint8Array(1))).rejects.toMatchObject({ code: "overloaded" });
    writer.abort();
    expect(await first).toMatchObject({ code: "channel_closed" });
  });

  it.each([1000, 1001, 4000])(
    "rejects with channel_closed after the reader disconnected with any code (%i)",
    async (code) => {
      const writer = worker.openChannel(WRITE);
      await writer.send("a");
      const end = await engine.end();
      end.socket.close(code);
      await end.closed;
      await expect(writer.end()).rejects.toMatchObject({
        code: "channel_closed",
        details: { channel_id: "c-1", direction: "write" },
      });
      await expect(writer.send("b")).rejects.toMatchObject({ code: "channel_closed" });
      await expect(writer.write(new Uint8Array(1))).rejects.toBeInstanceOf(CallError);
    },
  );

  it("is not closed normally by an abort", async () => {
    const writer = worker.openChannel(WRITE);
    await writer.send("a");
    const end = await engine.end();
    writer.abort("the disk failed");
    expect((await end.closed)[0]).toBe(1006);
    await expect(writer.end()).rejects.toMatchObject({
      code: "channel_closed",
      message: expect.stringContaining("the disk failed"),
    });
  });

  it("ends an unused channel, and does not connect an aborted one", async () => {
    await worker.openChannel(WRITE).end();
    expect(await (await engine.end()).closed).toEqual([1000, ""]);
    const other = worker.openChannel(WRITE);
    other.abort();
    await expect(other.send("x")).rejects.toMatchObject({ code: "channel_closed" });
    expect(engine.ends).toHaveLength(1);
  });

  it("rejects a string as bytes, bytes as a string and a string over 16 MiB", async () => {
    const writer = worker.openChannel(WRITE);
    await expect(writer.write("text" as unknown as Uint8Array)).rejects.toThrow(TypeError);
    await expect(writer.send(new Uint8Array(1) as unknown as string)).rejects.toThrow(TypeError);
    await expect(writer.send("é".repeat(8 * 1024 * 1024 + 1))).rejects.toMatchObject({ code: "payload_too_large" });
  });

  it("is a web stream too", async () => {
    const writer = worker.openChannel(WRITE);
    expect(writer.stream).toBe(writer.stream);
    await pipeline(
      Readable.from([Buffer.from("one"), Buffer.from("two")]),
      writer.stream as unknown as NodeJS.WritableStream,
    );
    expect((await engine.end()).items).toEqual([{ bytes: 3 }, { bytes: 3 }]);
    expect(await (await engine.end()).closed).toEqual([1000, ""]);
  });
});

describe("a reader", () => {
  it("returns strings and bytes in order, then the end, and connects at the first read", async () => {
    const reader = worker.openChannel(READ);
    expect(engine.ends).toEqual([]);
    const reading = itemsOf(reader);
    const end = await engine.end();
    expect(end.url).toBe("/ws/channels/c-1?key=k%26y&dir=read");
    end.socket.send("a");
    end.socket.send(Buffer.from("b"));
    end.socket.send("");
    end.socket.close();
    expect(await reading).toEqual(["a", "b", ""]);
    expect(await reader.read()).toBeUndefined();
  });

  it.each([
    ["a socket that is cut", (end: { socket: import("ws").WebSocket }) => end.socket.terminate(), "1006"],
    [
      "a close with 1011",
      (end: { socket: import("ws").WebSocket }) => end.socket.close(1011, "the writer's connection broke off"),
      "broke off",
    ],
  ])("gives what arrived, then channel_closed for %s", async (_name, cut, words) => {
    const reader = worker.openChannel(READ);
    const first = reader.read();
    const end = await engine.end();
    end.socket.send("a");
    end.socket.send("b");
    expect(await first).toBe("a");
    cut(end);
    expect(await reader.read()).toBe("b");
    await expect(reader.read()).rejects.toMatchObject({
      code: "channel_closed",
      message: expect.stringContaining(words),
    });
    await expect(reader.read()).rejects.toMatchObject({ code: "channel_closed" });
  });

  it("collects everything as a string, bytes or JSON", async () => {
    const collect = async <Value>(
      how: (reader: ChannelReader) => Promise<Value>,
      pieces: readonly (string | Buffer)[],
    ): Promise<Value> => {
      const number = engine.ends.length + 1;
      const collected = how(worker.openChannel(READ));
      // The test reads the promise later than it may reject.
      collected.catch(() => {});
      const { socket } = await engine.end(number);
      for (const piece of pieces) socket.send(piece);
      socket.close();
      return collected;
    };
    const euro = Buffer.from("€");
    expect(await collect((reader) => reader.text(), ["a", euro.subarray(0, 1), euro.subarray(1)])).toBe("a€");
    expect(Buffer.from(await collect((reader) => reader.bytes(), ["a", Buffer.from([0, 255])]))).toEqual(
      Buffer.from([97, 0, 255]),
    );
    expect(await collect((reader) => reader.json<{ a: number }>(), ['{"a"', ":1}"])).toEqual({ a: 1 });
    await expect(collect((reader) => reader.json(), ["{"])).rejects.toMatchObject({ code: "invalid_json" });
    await expect(collect((reader) => reader.text(), [Buffer.from([255])])).rejects.toMatchObject({
      code: "invalid_input",
    });
  });

  it("collects up to its limit, and cancels the channel above it", async () => {
    const collected = worker.openChannel(READ).bytes({ maxBytes: 10 });
    collected.catch(() => {});
    const end = await engine.end();
    end.socket.send(Buffer.alloc(8));
    end.socket.send(Buffer.alloc(8));
    await expect(collected).rejects.toMatchObject({ code: "payload_too_large", details: { limit_bytes: 10 } });
    expect((await end.closed)[0]).toBe(1000);
  });

  it("closes the channel when the loop is left early, and notifies the writer", async () => {
    const reader = worker.openChannel(READ);
    const leaving = (async () => {
      for await (const item of reader) return item;
      return undefined;
    })();
    const end = await engine.end();
    end.socket.send("a");
    end.socket.send("b");
    expect(await leaving).toBe("a");
    expect((await end.closed)[0]).toBe(1000);
    expect(await reader.read()).toBeUndefined();
  });

  it("has ended after a cancel before the first read, and stays unconnected", async () => {
    const reader = worker.openChannel(READ);
    reader.cancel();
    expect(await reader.read()).toBeUndefined();
    expect(await reader.text()).toBe("");
    expect(engine.ends).toEqual([]);
  });

  it("resolves a pending read with the end when it is cancelled, and rejects a concurrent read", async () => {
    const reader = worker.openChannel(READ);
    const reading = reader.read();
    await expect(reader.read()).rejects.toThrow("in progress");
    reader.cancel();
    expect(await reading).toBeUndefined();
  });

  it("applies backpressure to the writer while much is unread, and loses nothing", async () => {
    const reader = worker.openChannel(READ);
    const first = reader.read();
    const { socket } = await engine.end();
    const frames = 512;
    let unwritten = frames;
    for (let index = 0; index < frames; index++) {
      socket.send(Buffer.alloc(65_536, index % 256), () => {
        unwritten--;
      });
    }
    await first;
    // 32 MiB are far more than both systems' buffers. Without a pause everything would arrive.
    const { promise, resolve } = newGate();
    setImmediate(function poll() {
      if (socket.isPaused || unwritten < frames) resolve();
      else setImmediate(poll);
    });
    await promise;
    await worker.createChannel();
    expect(socket.bufferedAmount).toBeGreaterThan(1024 * 1024);
    let total = 65_536;
    socket.close();
    for (let item = await reader.read(); item !== undefined; item = await reader.read()) total += item.length;
    expect(total).toBe(frames * 65_536);
  });

  it("is a web stream too, and so a Node stream", async () => {
    const reader = worker.openChannel(READ);
    const collected: Buffer[] = [];
    const done = pipeline(
      Readable.fromWeb(reader.stream as import("node:stream/web").ReadableStream),
      async (source: AsyncIterable<Buffer>) => {
        for await (const piece of source) collected.push(piece);
      },
    );
    const { socket } = await engine.end();
    socket.send("text ");
    socket.send(Buffer.from("bytes"));
    socket.close();
    await done;
    expect(Buffer.concat(collected).toString()).toBe("text bytes");
  });

  it("rejects if the engine refuses the upgrade", async () => {
    const refusing = createServer((socket: TcpSocket) =>
      socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
    ).listen(0, "127.0.0.1");
    await once(refusing, "listening");
    const lonely = connect(`ws://127.0.0.1:${(refusing.address() as AddressInfo).port}`, {
      name: "lonely",
      logger: silentLogger,
      handleSignals: false,
    });
    await expect(lonely.openChannel(READ).read()).rejects.toMatchObject({
      code: "channel_closed",
      message: expect.stringContaining("404"),
    });
    await expect(lonely.openChannel(WRITE).send("x")).rejects.toMatchObject({
      code: "channel_closed",
      message: expect.stringContaining("404"),
    });
    await lonely.shutdown({ timeoutMs: 1 });
    refusing.close();
  });
});

function newGate(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

describe("refs in a handler's payload", () => {
  const invoke = (data: unknown): Frame => ({ data, type: "invokefunction", invocation_id: ID, function_id: "f" });

  async function receivedBy(data: unknown): Promise<unknown> {
    let seen: unknown;
    worker.registerFunction("f", (input) => {
      seen = input;
    });
    await engine.frame({ type: "registerfunction", id: "f" });
    engine.send(invoke(data));
    await engine.frame({ type: "invocationresult", invocation_id: ID });
    return seen;
  }

  it("are ends, at any depth, and the root too", async () => {
    const seen = (await receivedBy({ a: [{ b: READ }], c: WRITE, d: { ...READ, more: 1 } })) as {
      a: [{ b: unknown }];
      c: unknown;
      d: unknown;
    };
    expect(seen.a[0].b).toBeInstanceOf(ChannelReader);
    expect(seen.c).toBeInstanceOf(ChannelWriter);
    expect(seen.d).toBeInstanceOf(ChannelReader);
    expect(JSON.parse(JSON.stringify(seen))).toEqual({ a: [{ b: READ }], c: WRITE, d: READ });
  });

  it("may be the whole payload", async () => {
    expect(await receivedBy(READ)).toBeInstanceOf(ChannelReader);
  });

  it("are unchanged if they are not refs", async () => {
    const data = {
      a: { ...CHANNEL },
      b: { ...CHANNEL, direction: "both" },
      c: { ...READ, access_key: 7 },
      d: '"access_key"',
    };
    expect(await receivedBy(data)).toEqual(data);
  });

  it("do not change prototypes", async () => {
    const text = `{"data":{"__proto__":${JSON.stringify(READ)},"x":{"__proto__":${JSON.stringify(READ)},"direction":"read"}},"type":"invokefunction","invocation_id":"${ID}","function_id":"f"}`;
    let seen: Record<string, unknown> | undefined;
    worker.registerFunction("f", (input) => {
      seen = input as Record<string, unknown>;
    });
    await engine.frame({ type: "registerfunction", id: "f" });
    engine.send(text);
    await engine.frame({ type: "invocationresult", invocation_id: ID });
    expect(Object.getPrototypeOf(seen)).toBe(Object.prototype);
    expect(Object.getOwnPropertyDescriptor(seen, "__proto__")?.value).toBeInstanceOf(ChannelReader);
    expect(seen?.x).not.toBeInstanceOf(ChannelReader);
    expect(({} as Record<string, unknown>).channel_id).toBeUndefined();
  });

  it("pass through a schema to the handler, and back as refs in its result", async () => {
    worker.registerFunction("f", (input) => ({ same: input }));
    await engine.frame({ type: "registerfunction", id: "f" });
    engine.send(invoke({ file: READ }));
    expect((await engine.frame({ type: "invocationresult", invocation_id: ID })).result).toEqual({
      same: { file: READ },
    });
  });
});

describe("the channel ends in a call's payload", () => {
  it("fail when the call is cancelled, so that no handler waits indefinitely", async () => {
    const writeOn = async (out: ChannelWriter): Promise<void> => {
      for (;;) await out.send("x");
    };
    const outcome = new Promise((resolve) => {
      worker.registerFunction("f", ({ file, out }: { file: ChannelReader; out: ChannelWriter }) => {
        const settled = Promise.allSettled([file.read(), writeOn(out)]);
        resolve(settled);
        return settled;
      });
    });
    await engine.frame({ type: "registerfunction", id: "f" });
    engine.send({ data: { file: READ, out: WRITE }, type: "invokefunction", invocation_id: ID, function_id: "f" });
    const ends = [await engine.end(1), await engine.end(2)];
    engine.send({ type: "cancelinvocation", invocation_id: ID, reason: "cancelled" });
    expect(await Promise.all(ends.map(async ({ closed }) => (await closed)[0]))).toEqual([1006, 1006]);
    expect(await outcome).toMatchObject([
      { reason: { code: "call_cancelled" } },
      { reason: { code: "call_cancelled" } },
    ]);
  });
});

describe("shutdown", () => {
  it("waits for connected channels, up to its timeout, then aborts them and rejects new ones", async () => {
    const writer = worker.openChannel(WRITE);
    await writer.send("a");
    const reader = worker.openChannel(READ);
    const reading = reader.read();
    const [first, second] = [await engine.end(1), await engine.end(2)];
    const down = worker.shutdown({ timeoutMs: 50 });
    await expect(reading).rejects.toMatchObject({
      code: "channel_closed",
      message: expect.stringContaining("shut down"),
    });
    await down;
    expect([(await first.closed)[0], (await second.closed)[0]]).toEqual([1006, 1006]);
    await expect(worker.openChannel(READ).read()).rejects.toMatchObject({ code: "draining" });
    await expect(worker.openChannel(WRITE).send("x")).rejects.toMatchObject({ code: "draining" });
  });

  it("lets a channel end normally that ends in time", async () => {
    const writer = worker.openChannel(WRITE);
    await writer.send("a");
    const end = await engine.end();
    const down = worker.shutdown();
    await writer.send("b");
    await writer.end();
    await down;
    expect(end.items).toEqual(["a", "b"]);
    expect((await end.closed)[0]).toBe(1000);
  });
});
