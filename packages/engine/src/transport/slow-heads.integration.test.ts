import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Listener } from "./listener.ts";

const undo: (() => void)[] = [];
afterEach(() => {
  for (const close of undo.splice(0).reverse()) close();
});

/** A listener like the engine's, with shorter timeouts. Counts requests and handshakes that reach it. */
async function listener(requestTimeoutMs: number) {
  let reached = 0;
  const made = new Listener({
    what: "test",
    headersTimeoutMs: 300,
    requestTimeoutMs,
    onRequest: (_request, response) => {
      reached++;
      response.end("ok");
    },
    onUpgrade: (_request, stream) => {
      reached++;
      stream.destroy();
    },
  });
  await made.bind({ host: "127.0.0.1", port: 0 });
  undo.push(() => made.close());
  return { reached: () => reached, port: made.port };
}

async function dial(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  undo.push(() => socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.resume();
  return socket;
}

// Once with the limit on whole requests, as on the bridge, and once without it, as for streamed bodies.
describe.each([60_000, 0])("a client of a listener with %d ms for whole requests", (requestTimeoutMs) => {
  it("that says nothing is cut off (1.4) (W11)", async () => {
    const { port, reached } = await listener(requestTimeoutMs);
    const socket = await dial(port);
    await once(socket, "close");
    expect(reached()).toBe(0);
  });

  it("that drips its head, or a handshake's, is cut off (1.4) (W11)", async () => {
    const { port, reached } = await listener(requestTimeoutMs);
    for (const head of [
      "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ",
      "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Slow: ",
    ]) {
      const socket = await dial(port);
      socket.write(head);
      const dripping = setInterval(() => socket.write("a"), 50);
      undo.push(() => clearInterval(dripping));
      await once(socket, "close");
    }
    expect(reached()).toBe(0);
  });

  it("that answers in time is served, and is cut off when its next head does not come", async () => {
    const { port, reached } = await listener(requestTimeoutMs);
    const socket = await dial(port);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(socket, "data");
    socket.write("GET / HTTP/1.1\r\nHo");
    await once(socket, "close");
    expect(reached()).toBe(1);
  });
});
