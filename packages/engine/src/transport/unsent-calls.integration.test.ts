import { once } from "node:events";
import { afterEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { FrameSocket } from "../kernel/frame-socket.ts";
import { acceptWebSocket } from "./frames/server-socket.ts";
import { Listener } from "./listener.ts";

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0).reverse()) step();
});

/**
 * A connection over a real socket whose peer reads nothing after the handshake. `closed` resolves when the engine's
 * side has closed.
 */
async function stalledPeer(): Promise<{
  readonly socket: FrameSocket;
  readonly client: WebSocket;
  readonly closed: Promise<void>;
}> {
  let accept: (socket: FrameSocket) => void = () => {};
  const accepted = new Promise<FrameSocket>((resolve) => {
    accept = resolve;
  });
  const listener = new Listener({
    what: "test",
    onRequest: (_request, response) => response.end(),
    maxConnectionsPerAddress: () => 10,
    onUpgrade: (request, stream, head) => acceptWebSocket(request, stream, head, accept),
  });
  await listener.bind({ host: "127.0.0.1", port: 0 });
  undo.push(() => listener.close());
  const client = new WebSocket(`ws://127.0.0.1:${listener.port}/`);
  undo.push(() => client.terminate());
  await once(client, "open");
  client.pause();
  const socket = await accepted;
  const closed = new Promise<void>((resolve) => {
    socket.listen({ onFrame: () => {}, onAlive: () => {}, onClosed: () => resolve() });
  });
  return { socket, client, closed };
}

/** Sends more than the system's buffers can hold. */
async function sendMany(socket: FrameSocket): Promise<readonly (() => boolean)[]> {
  const checks: (() => boolean)[] = [];
  for (let n = 0; n < 400; n++) {
    checks.push(socket.trackNextFrame() ?? (() => false));
    socket.send(JSON.stringify({ n, filler: "x".repeat(64 * 1024) }));
    await new Promise(setImmediate);
  }
  return checks;
}

it("knows which frames never left when the peer disconnects", async () => {
  const { socket, client, closed } = await stalledPeer();
  const checks = await sendMany(socket);
  expect(checks.map((isUnsent) => isUnsent())).not.toContain(true);
  client.terminate();
  await closed;
  const unsent = checks.map((isUnsent) => isUnsent());
  const first = unsent.indexOf(true);
  expect(first).toBeGreaterThan(0);
  expect(unsent.slice(first)).not.toContain(false);
  expect(socket.isOpen).toBe(false);
});

it("calls no frame unsent that the peer received after the connection was cut", async () => {
  const { socket, client, closed } = await stalledPeer();
  const received: number[] = [];
  client.on("message", (data) => received.push((JSON.parse(String(data)) as { n: number }).n));
  const checks = await sendMany(socket);
  socket.terminate();
  // The connection checks at once, before the socket has dropped the queued frames.
  const atOnce = checks.map((isUnsent) => isUnsent());
  await closed;
  const unsent = checks.map((isUnsent) => isUnsent());
  client.resume();
  await once(client, "close");
  expect(received.length).toBeGreaterThan(0);
  expect(received.filter((n) => unsent[n] || atOnce[n])).toEqual([]);
  expect([atOnce.includes(true), unsent.at(-1)]).toEqual([true, true]);
});

it("brings the peer frames of all sizes and kinds in the order in which they were sent (C-7)", async () => {
  const { socket, client } = await stalledPeer();
  const received: number[] = [];
  const isOver = new Promise<void>((resolve) => {
    client.on("message", (data) => {
      if (received.push((JSON.parse(String(data)) as { n: number }).n) === 300) resolve();
    });
  });
  const fillers = ["", "é", "x".repeat(500), "x".repeat(200_000)];
  for (let n = 0; n < 300; n++) {
    const frame = JSON.stringify({ n, filler: fillers[n % fillers.length] });
    socket.send(n % 3 === 0 ? [Buffer.from(frame.slice(0, 5)), Buffer.from(frame.slice(5))] : frame);
    if (n % 50 === 0) await new Promise(setImmediate);
  }
  client.resume();
  await isOver;
  expect(received).toEqual(Array.from({ length: 300 }, (_, n) => n));
});
