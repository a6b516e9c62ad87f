import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { character } from "@svc-runtime/protocol/testing/arbitraries";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import type { FrameSocket, FrameSocketListener } from "../../kernel/frame-socket.ts";
import { acceptWebSocket } from "./server-socket.ts";
import { clientFrame } from "./testing/client-frame.ts";

/** What a server reports, in order, until the connection is over. */
const events: { library: string[]; ours: string[] } = { library: [], ours: [] };
let finished: { library: () => void; ours: () => void };
/** Gets the next socket at /manual. */
let onManual: (socket: FrameSocket) => void = () => {};
const library = new WebSocketServer({ noServer: true, maxPayload: 16 * 1024 * 1024, perMessageDeflate: false });
const server = createServer();
const port = (): number => (server.address() as AddressInfo).port;

beforeAll(async () => {
  server.on("upgrade", (request, stream: Duplex, head) => {
    if (request.url === "/manual") {
      acceptWebSocket(request, stream, head, (socket) => onManual(socket));
      return;
    }
    if (request.url === "/library") {
      library.handleUpgrade(request, stream, head, (socket) => {
        socket.on("message", (data: Buffer, isBinary) =>
          events.library.push(`${isBinary ? "binary" : "text"} ${data.toString("base64")}`),
        );
        socket.on("ping", () => events.library.push("alive"));
        socket.on("pong", () => events.library.push("alive"));
        socket.on("error", () => {});
        socket.on("close", () => {
          events.library.push("closed");
          finished.library();
        });
      });
      return;
    }
    acceptWebSocket(request, stream, head, (socket) =>
      socket.listen({
        onFrame: (bytes, kind) => events.ours.push(`${kind} ${bytes.toString("base64")}`),
        onAlive: () => events.ours.push("alive"),
        onClosed: () => {
          events.ours.push("closed");
          finished.ours();
        },
      }),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

function upgradeRequest(path: string, headers: Readonly<Record<string, string>> = {}, method = "GET"): string {
  const all = {
    Host: "localhost",
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
    ...headers,
  };
  return `${method} ${path} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;
}

function rawClient(): Socket {
  const socket = connect(port(), "127.0.0.1");
  socket.setNoDelay(true);
  socket.on("error", () => {});
  return socket;
}

/** Sends the bytes cut at these places, each piece by itself, and then ends the connection. Returns the events and the code of the close frame. */
async function eventsOf(kind: "library" | "ours", bytes: Buffer, cuts: readonly number[]): Promise<readonly string[]> {
  events[kind] = [];
  const over = new Promise<void>((resolve) => {
    finished = { library: () => {}, ours: () => {}, [kind]: resolve };
  });
  const socket = rawClient();
  socket.write(upgradeRequest(`/${kind}`));
  await once(socket, "data");
  const received: Buffer[] = [];
  socket.on("data", (chunk) => received.push(chunk));
  let from = 0;
  for (const to of [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))]
    .sort((a, b) => a - b)
    .concat(bytes.length)) {
    if (to > from) await new Promise<void>((resolve) => socket.write(bytes.subarray(from, to), () => resolve()));
    from = to;
  }
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.end();
  await Promise.all([over, ended]);
  return [...events[kind], `close frame ${closeCodeIn(Buffer.concat(received))}`];
}

/** Code of the close frame that a server sent; `none` without one. Its other frames are short. */
function closeCodeIn(bytes: Buffer): string {
  for (let at = 0; at + 1 < bytes.length; at += 2 + ((bytes[at + 1] as number) & 0x7f)) {
    if (bytes[at] === 0x88) return bytes[at + 1] === 0 ? "without code" : String(bytes.readUInt16BE(at + 2));
  }
  return "none";
}

const payloads = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 300, unit: character }).map((value) => Buffer.from(value)) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(0, 1, 125, 126, 127, 4_095, 4_096, 4_097, 65_535, 65_536, 70_000)
      .map((size) => Buffer.alloc(size, "ab€")),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
);
const firstBytes = fc.oneof(
  { weight: 8, arbitrary: fc.constant(0x81) },
  { weight: 4, arbitrary: fc.constantFrom(0x01, 0x00, 0x80, 0x82, 0x89, 0x8a) },
  fc.nat(255),
);
const dataFrames = fc
  .tuple(firstBytes, payloads, fc.nat(40))
  .map(([first, payload, one]) => clientFrame(first, payload, { isMasked: one > 0 }));
const closeFrames = fc
  .tuple(
    fc.oneof(fc.constantFrom(1000, 1001, 1005, 1006, 1015, 3000, 4999), fc.nat(65_535)),
    fc.string({ maxLength: 40, unit: character }),
  )
  .map(([code, reason]) =>
    clientFrame(0x88, Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]).subarray(0, 125)),
  );
const frames = fc.oneof({ weight: 12, arbitrary: dataFrames }, { weight: 1, arbitrary: closeFrames });

/** Opens a connection of a client of the ws library, and the server's side of it. */
async function connection(listener: Partial<FrameSocketListener> = {}, protocols: string[] = []) {
  const accepted = new Promise<FrameSocket>((resolve) => {
    onManual = resolve;
  });
  const client = new WebSocket(`ws://127.0.0.1:${port()}/manual`, protocols);
  const [socket] = await Promise.all([accepted, once(client, "open")]);
  let onClosed: (ended: string) => void = () => {};
  const closed = new Promise<string>((resolve) => {
    onClosed = resolve;
  });
  socket.listen({
    onFrame: () => {},
    onAlive: () => {},
    onClosed: (code, reason) => onClosed(`${code} ${reason}`),
    ...listener,
  });
  return { client, socket, closed };
}

describe("the server's side of a WebSocket", () => {
  it("reads what the ws library reads, however the bytes are cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(frames, { maxLength: 12 }),
        fc.array(fc.nat(100_000), { maxLength: 6 }),
        async (sent, cuts) => {
          const bytes = Buffer.concat(sent);
          expect(await eventsOf("ours", bytes, cuts)).toEqual(await eventsOf("library", bytes, cuts));
        },
      ),
      { numRuns: 80 },
    );
  }, 60_000);

  it("sends texts and bytes of every size in order, which the ws library reads", async () => {
    const { client, socket } = await connection();
    const texts = [0, 1, 125, 126, 16_384, 16_385, 65_535, 65_536, 3_000_000].flatMap((size) => [
      "x".repeat(size),
      "é".repeat(size),
    ]);
    const received: string[] = [];
    const all = new Promise<void>((resolve) => {
      client.on("message", (data: Buffer, isBinary) => {
        received.push(`${isBinary ? "binary" : "text"} ${data}`);
        if (received.length === 3 * texts.length) resolve();
      });
    });
    for (const text of texts) {
      socket.send(text);
      socket.send([Buffer.from(text.slice(0, 7)), Buffer.from(text.slice(7))]);
      socket.sendBinary(Buffer.from(text));
    }
    await all;
    expect(received).toEqual(texts.flatMap((text) => [`text ${text}`, `text ${text}`, `binary ${text}`]));
    client.terminate();
  });

  it("reads frames that arrive with the upgrade request", async () => {
    const accepted = new Promise<FrameSocket>((resolve) => {
      onManual = resolve;
    });
    const socket = rawClient();
    socket.write(Buffer.concat([Buffer.from(upgradeRequest("/manual")), clientFrame(0x81, Buffer.from("early"))]));
    const server = await accepted;
    const frame = new Promise<string>((resolve) =>
      server.listen({ onFrame: (bytes) => resolve(String(bytes)), onAlive: () => {}, onClosed: () => {} }),
    );
    expect(await frame).toBe("early");
    socket.destroy();
  });

  it.each([
    ["another method", {}, "POST", "405"],
    ["another protocol", { Upgrade: "h2c" }, "GET", "400"],
    ["no key", { "Sec-WebSocket-Key": "" }, "GET", "400"],
    ["a short key", { "Sec-WebSocket-Key": "AAAA" }, "GET", "400"],
    ["another version", { "Sec-WebSocket-Version": "12" }, "GET", "400"],
    ["a subprotocol twice", { "Sec-WebSocket-Protocol": "a, a" }, "GET", "400"],
    ["a subprotocol that is no name", { "Sec-WebSocket-Protocol": "a b" }, "GET", "400"],
  ])("refuses a handshake with %s", async (_what, headers, method, status) => {
    const socket = rawClient();
    socket.write(upgradeRequest("/manual", headers, method));
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(String(answer)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(String(answer)).toContain('"code":"invalid_request"');
    socket.destroy();
  });

  it("accepts the first subprotocol that holds no token", async () => {
    const { client } = await connection({}, ["svc.token.c2VjcmV0", "svc", "other"]);
    expect(client.protocol).toBe("svc");
    client.terminate();
  });

  it("answers pings, and only the latest of those that arrive together", async () => {
    let pings = 0;
    const { client } = await connection({ onAlive: () => pings++ });
    const pongs: string[] = [];
    client.on("pong", (payload: Buffer) => pongs.push(String(payload)));
    for (let n = 1; n <= 1_000; n++) client.ping(String(n));
    await expect.poll(() => pongs.at(-1)).toBe("1000");
    expect(pings).toBe(1_000);
    expect(pongs.length).toBeLessThan(1_000);
    client.terminate();
  });

  it("holds one answer for a client that sends pings and reads nothing", async () => {
    let pings = 0;
    const { client, socket } = await connection({ onAlive: () => pings++ });
    client.pause();
    socket.send("x".repeat(15_000_000));
    await new Promise(setImmediate);
    const queued = socket.queuedBytes;
    for (let n = 0; n < 500; n++) client.ping("p".repeat(125));
    await expect.poll(() => pings).toBe(500);
    // One answer with its header.
    expect(socket.queuedBytes).toBeLessThanOrEqual(queued + 127);
    const pong = once(client, "pong");
    client.resume();
    await pong;
    client.terminate();
  });

  it("counts only what the client has not read, while it reads many large frames, in order with small ones", async () => {
    const { client, socket } = await connection();
    client.pause();
    const names = Array.from({ length: 60 }, (_, n) => String(n).padStart(3, "0"));
    for (const [n, name] of names.entries()) {
      socket.send(n % 3 === 0 ? `small ${name}` : `large ${name} ${"x".repeat(500_000)}`);
      if (n % 10 === 0) socket.ping();
    }
    const received: string[] = [];
    const counts = new Set<number>();
    const all = new Promise<void>((resolve) => {
      client.on("message", (data: Buffer) => {
        received.push(data.toString("latin1", 6, 9));
        counts.add(socket.queuedBytes);
        if (received.length === names.length) resolve();
      });
    });
    await new Promise(setImmediate);
    expect(socket.queuedBytes).toBeGreaterThan(10_000_000);
    client.resume();
    await all;
    expect(received).toEqual(names);
    // It falls step by step, not once for all.
    expect(counts.size).toBeGreaterThan(5);
    await expect.poll(() => socket.queuedBytes).toBe(0);
    client.terminate();
  });

  it("sends everything that is queued before it closes", async () => {
    const { client, socket, closed } = await connection();
    let received = 0;
    client.on("message", () => received++);
    client.pause();
    for (let n = 0; n < 30; n++) socket.send("x".repeat(300_000));
    socket.close(4002, "done");
    client.resume();
    expect(await closed).toBe("4002 done");
    expect(received).toBe(30);
  });

  it("answers pings while the queue never becomes empty", async () => {
    const { client, socket } = await connection();
    let isRefilling = true;
    const refill = (): void => {
      if (!isRefilling) return;
      socket.sendBinary(Buffer.alloc(500_000));
      socket.onceDrained(refill);
    };
    refill();
    await once(client, "message");
    const pong = once(client, "pong");
    client.ping("still there");
    expect(String(((await pong) as [Buffer])[0])).toBe("still there");
    isRefilling = false;
    client.terminate();
  });

  it("closes with code and reason, and ends with the code that the peer answers", async () => {
    const { client, socket, closed } = await connection();
    const clientClosed = once(client, "close");
    socket.send("last");
    const last = once(client, "message");
    socket.close(4001, "€".repeat(50));
    expect(socket.isOpen).toBe(false);
    socket.send("too late");
    expect(String(((await last) as [Buffer])[0])).toBe("last");
    const [code, reason] = (await clientClosed) as [number, Buffer];
    // 123 bytes hold 41 of three.
    expect([code, String(reason)]).toEqual([4001, "€".repeat(41)]);
    expect(await closed).toBe(`4001 ${"€".repeat(41)}`);
  });

  it("answers the peer's close frame and ends with its code and reason", async () => {
    const { client, socket, closed } = await connection();
    client.close(3001, "done");
    expect(await closed).toBe("3001 done");
    expect(socket.isOpen).toBe(false);
    expect((await connection().then(async ({ client: other, closed: ended }) => [other.close(), await ended]))[1]).toBe(
      "1005 ",
    );
  });

  it("ends with 1006 when the peer disconnects without a close frame, and with 1002 when the peer breaks the protocol", async () => {
    const cut = await connection();
    cut.client.terminate();
    expect(await cut.closed).toBe("1006 ");
    const broken = await connection();
    (broken.client as unknown as { _socket: Socket })._socket.write(Buffer.from([0xff, 0xff]));
    expect(await broken.closed).toBe("1002 ");
  });

  it("hangs up without a close frame once what is queued was sent", async () => {
    const { client, socket, closed } = await connection();
    let received = 0;
    client.on("message", () => received++);
    const clientClosed = once(client, "close");
    for (let n = 0; n < 20; n++) socket.send("x".repeat(100_000));
    socket.hangUp();
    expect(socket.isOpen).toBe(false);
    expect((await clientClosed)[0]).toBe(1006);
    expect(received).toBe(20);
    expect(await closed).toBe("1006 ");
  });
});
