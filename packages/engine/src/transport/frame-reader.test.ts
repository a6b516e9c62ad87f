import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";
import { character } from "@svc/protocol/testing/arbitraries";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { FrameReader } from "./frame-reader.ts";
import { acceptWebSocket } from "./websocket.ts";

interface Frame {
  readonly first: number;
  readonly payload: Buffer;
  readonly masked: boolean;
}

/** A frame as a client sends it. RFC 6455, section 5.2. */
function bytesOf({ first, payload, masked }: Frame): Buffer {
  const long = payload.length > 65_535;
  const size = long ? 10 : payload.length > 125 ? 4 : 2;
  const mask = masked ? randomBytes(4) : Buffer.alloc(0);
  const header = Buffer.alloc(size);
  header[0] = first;
  header[1] = (masked ? 0x80 : 0) | (long ? 127 : payload.length > 125 ? 126 : payload.length);
  if (long) header.writeBigUInt64BE(BigInt(payload.length), 2);
  else if (payload.length > 125) header.writeUInt16BE(payload.length, 2);
  return Buffer.concat([header, mask, masked ? payload.map((byte, at) => byte ^ (mask[at % 4] as number)) : payload]);
}

const text = (value: string): Frame => ({ first: 0x81, payload: Buffer.from(value), masked: true });

/** What a server hears, in order, until the connection is over. */
type Heard = readonly string[];

const events: { plain: string[]; ours: string[] } = { plain: [], ours: [] };
let finished: { plain: () => void; ours: () => void };
const plainServer = new WebSocketServer({ noServer: true, maxPayload: 16 * 1024 * 1024, perMessageDeflate: false });
const server = createServer();

beforeAll(async () => {
  server.on("upgrade", (request, stream: Duplex, head) => {
    if (request.url === "/plain") {
      plainServer.handleUpgrade(request, stream, head, (socket) => {
        socket.on("message", (data: Buffer, isBinary) => events.plain.push(`${isBinary ? "binary" : "text"} ${data.toString("base64")}`));
        socket.on("ping", () => events.plain.push("alive"));
        socket.on("pong", () => events.plain.push("alive"));
        socket.on("error", () => {});
        socket.on("close", (code) => {
          events.plain.push(`closed ${code}`);
          finished.plain();
        });
      });
      return;
    }
    acceptWebSocket(request, stream, head, (socket) =>
      socket.listen({
        onFrame: (bytes, kind) => events.ours.push(`${kind} ${bytes.toString("base64")}`),
        onAlive: () => events.ours.push("alive"),
        onClosed: (code) => {
          events.ours.push(`closed ${code}`);
          finished.ours();
        },
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

/** Sends the bytes cut at these places, each piece by itself, and then ends the connection. */
async function hear(kind: "plain" | "ours", bytes: Buffer, cuts: readonly number[]): Promise<Heard> {
  events[kind] = [];
  const over = new Promise<void>((resolve) => {
    finished = { plain: () => {}, ours: () => {}, [kind]: resolve };
  });
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.setNoDelay(true);
  socket.on("error", () => {});
  const key = randomBytes(16).toString("base64");
  const opened = new Promise<void>((resolve) => socket.once("data", () => resolve()));
  socket.write(
    `GET /${kind} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  );
  await opened;
  socket.resume();
  let from = 0;
  for (const to of [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b).concat(bytes.length)) {
    if (to > from) await new Promise<void>((resolve) => socket.write(bytes.subarray(from, to), () => resolve()));
    from = to;
  }
  socket.end();
  await over;
  socket.destroy();
  return events[kind];
}

const payloads = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 300, unit: character }).map((value) => Buffer.from(value)) },
  { weight: 2, arbitrary: fc.constantFrom(0, 1, 125, 126, 127, 4_095, 4_096, 4_097, 65_535, 65_536, 70_000).map((size) => Buffer.alloc(size, "ab€")) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
);
const frames: fc.Arbitrary<Frame> = fc.record({
  first: fc.oneof({ weight: 8, arbitrary: fc.constant(0x81) }, { weight: 4, arbitrary: fc.constantFrom(0x01, 0x00, 0x80, 0x82, 0x89, 0x8a) }, fc.nat(255)),
  payload: payloads,
  masked: fc.nat(40).map((one) => one > 0),
});

describe("reading before the library", () => {
  it("hears exactly what the library hears, however the bytes are cut", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(frames, { maxLength: 12 }), fc.array(fc.nat(100_000), { maxLength: 6 }), async (sent, cuts) => {
        const bytes = Buffer.concat(sent.map(bytesOf));
        expect(await hear("ours", bytes, cuts)).toEqual(await hear("plain", bytes, cuts));
      }),
      { numRuns: 60 },
    );
  }, 60_000);
});

/** A reader, with what it reads itself and what it leaves to the library, which tells a message after so many bytes. */
function reading(told = -1) {
  const texts: string[] = [];
  const left: Buffer[] = [];
  let bytesLeft = 0;
  const reader: FrameReader = new FrameReader({
    toLibrary: (chunk) => {
      left.push(Buffer.from(chunk));
      bytesLeft += chunk.length;
      // As the library does when it has the whole of a message.
      if (bytesLeft === told) reader.messageCame();
    },
    onText: (bytes) => texts.push(bytes.toString("utf8")),
  });
  return { texts, reader, left: () => Buffer.concat(left) };
}

describe("a reader", () => {
  it("reads whole small texts itself, several in one chunk", () => {
    const { reader, texts, left } = reading();
    reader.read(Buffer.concat([text("a"), text("b".repeat(200)), text("ü€")].map(bytesOf)));
    expect(texts).toEqual(["a", "b".repeat(200), "ü€"]);
    expect(left()).toHaveLength(0);
  });

  it("leaves what is cut to the library, also within a header, and goes on behind it", () => {
    const cut = bytesOf(text("c".repeat(1_000)));
    for (const at of [1, 2, 3, 5, 7, 9, 500, cut.length - 1]) {
      const { reader, texts, left } = reading(cut.length);
      reader.read(Buffer.concat([bytesOf(text("a")), cut.subarray(0, at)]));
      reader.read(Buffer.concat([cut.subarray(at), bytesOf(text("b"))]));
      expect(texts).toEqual(["a", "b"]);
      expect(left()).toEqual(cut);
    }
  });

  it("leaves a frame that comes byte by byte to the library", () => {
    const large = bytesOf({ first: 0x82, payload: Buffer.alloc(7_000), masked: true });
    const { reader, texts, left } = reading(large.length);
    for (const byte of large) reader.read(Buffer.from([byte]));
    reader.read(bytesOf(text("b")));
    expect(texts).toEqual(["b"]);
    expect(left()).toEqual(large);
  });

  it("leaves texts that are no UTF-8 to the library as they came, and all behind them", () => {
    const { reader, texts, left } = reading();
    const bad = Buffer.concat([bytesOf({ first: 0x81, payload: Buffer.from([0xc3, 0x28]), masked: true }), bytesOf(text("a"))]);
    const before = Buffer.from(bad);
    reader.read(bad);
    expect(texts).toEqual([]);
    expect(left()).toEqual(before);
  });

  it("leaves all to the library after a close frame, within a message in parts, and after what is no frame", () => {
    for (const first of [
      { ...text("bye"), first: 0x88 },
      { ...text("part"), first: 0x01 },
      { ...text("odd"), first: 0xf1 },
      { ...text("bare"), masked: false },
    ]) {
      const { reader, texts, left } = reading();
      const all = Buffer.concat([bytesOf(first), bytesOf(text("a"))]);
      reader.read(all);
      expect(texts).toEqual([]);
      expect(left()).toEqual(all);
    }
  });
});
