import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer, type Socket as TcpSocket } from "node:net";
import { MAX_FRAME_BYTES } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { silentLogger } from "../logger.ts";
import { connect } from "../node.ts";
import { nodeSockets } from "./node-socket.ts";
import type { Socket } from "./socket.ts";

interface Opened {
  readonly socket: Socket;
  readonly peer: WebSocket;
  readonly closed: Promise<string>;
  readonly messages: string[];
  nextMessage(): Promise<void>;
}

async function withPair(test: (pair: Opened) => Promise<void>): Promise<void> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const messages: string[] = [];
  let onMessage = (): void => {};
  let socket: Socket | undefined;
  const connected = once(server, "connection");
  let onOpen = (): void => {};
  const opened = new Promise<void>((resolve) => {
    onOpen = resolve;
  });
  const closed = new Promise<string>((resolve) => {
    socket = nodeSockets(() => ({}))(`ws://127.0.0.1:${port}`, {
      opened: onOpen,
      message: (text) => {
        messages.push(text);
        onMessage();
      },
      alive: () => {},
      closed: resolve,
    });
  });
  const [peer] = (await connected) as [WebSocket];
  try {
    await opened;
    const nextMessage = (): Promise<void> =>
      new Promise((resolve) => {
        onMessage = resolve;
      });
    await test({ socket: socket as Socket, peer, closed, messages, nextMessage });
  } finally {
    for (const client of server.clients) client.terminate();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

it("sends SVC_TOKEN to the engines whose address has no password, and a password to its own engine only", async () => {
  const servers = [0, 1].map(() => new WebSocketServer({ port: 0, host: "127.0.0.1" }));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const [a, b] = servers.map((server) => (server.address() as { port: number }).port);
  const headers = servers.map(async (server) => {
    const [socket, request] = (await once(server, "connection")) as [WebSocket, IncomingMessage];
    // The worker goes to the other engine.
    socket.terminate();
    return request.headers.authorization;
  });
  const before = process.env.SVC_TOKEN;
  process.env.SVC_TOKEN = "of-env";
  const worker = connect(`ws://svc:of-a@127.0.0.1:${a},ws://127.0.0.1:${b}`, {
    logger: silentLogger,
    handleSignals: false,
  });
  try {
    const basic = `Basic ${Buffer.from("svc:of-a").toString("base64")}`;
    expect(await Promise.all(headers)).toEqual([basic, "Bearer of-env"]);
  } finally {
    if (before === undefined) delete process.env.SVC_TOKEN;
    else process.env.SVC_TOKEN = before;
    await worker.shutdown({ timeoutMs: 1 });
    for (const server of servers) server.close();
  }
});

describe("the Node socket", () => {
  it("writes the frames of one tick together, and flushed resolves when they are written", () =>
    withPair(async ({ socket, peer }) => {
      const received: string[] = [];
      const all = new Promise<void>((resolve) => {
        peer.on("message", (data) => {
          received.push(String(data));
          if (received.length === 100) resolve();
        });
      });
      const below = (peer as unknown as { _socket: TcpSocket })._socket;
      let reads = 0;
      below.on("data", () => reads++);
      for (let n = 0; n < 100; n++) socket.send(`frame ${n}`);
      expect(socket.bufferedBytes).toBeGreaterThan(0);
      await socket.flushed();
      expect(socket.bufferedBytes).toBe(0);
      await all;
      expect(received).toEqual(Array.from({ length: 100 }, (_, n) => `frame ${n}`));
      expect(reads).toBeLessThan(10);
      await socket.flushed();
    }));

  it("accepts binary frames as text, and frames of the maximum size", () =>
    withPair(async ({ peer, messages, nextMessage }) => {
      let next = nextMessage();
      peer.send(Buffer.from('{"type":"ping"}'));
      await next;
      next = nextMessage();
      peer.send("x".repeat(MAX_FRAME_BYTES + 1024));
      await next;
      expect(messages.map((text) => text.length)).toEqual([15, MAX_FRAME_BYTES + 1024]);
    }));

  it("reports why it closed, and writes what was sent just before a close", () =>
    withPair(async ({ socket, peer, closed }) => {
      const message = once(peer, "message");
      socket.send("last words");
      socket.close();
      expect(String((await message)[0])).toBe("last words");
      expect(await closed).toContain("1000");
    }));

  it("reports the peer's reason", () =>
    withPair(async ({ peer, closed }) => {
      peer.close(1012, "restarting");
      expect(await closed).toBe("closed with code 1012 (restarting)");
    }));

  const refusalBody = JSON.stringify({ error: { code: "AUTH_ERROR", message: "wrong token" } });
  it.each([
    {
      what: "without a body",
      head: "401 Unauthorized",
      body: "",
      reason: "the connection was refused with HTTP 401; check the token (SVC_TOKEN)",
    },
    {
      what: "with the engine's words",
      head: "401 X",
      body: refusalBody,
      reason: "the connection was refused with HTTP 401: wrong token; check the token (SVC_TOKEN)",
    },
    {
      what: "of another kind",
      head: "421 X",
      body: refusalBody,
      reason: "the connection was refused with HTTP 421: wrong token",
    },
    { what: "by something else", head: "404 X", body: "<html>", reason: "the connection was refused with HTTP 404" },
    {
      what: "at great length",
      head: "503 X",
      body: refusalBody.replace("wrong", "w".repeat(3000)),
      reason: `the connection was refused with HTTP 503: ${"w".repeat(500)}…`,
    },
    {
      what: "without end",
      head: "503 X",
      body: "x".repeat(100_000),
      reason: "the connection was refused with HTTP 503",
    },
  ])("tells of an upgrade refused $what", async ({ head, body, reason }) => {
    const sockets = new Set<TcpSocket>();
    const server = createServer((socket) => {
      sockets.add(socket.on("error", () => {}));
      // Left open: the refusal must not wait for the end of the body.
      socket.write(
        `HTTP/1.1 ${head}\r\nContent-Length: ${body === "" ? 0 : body.length + (body.startsWith("x") ? 1 : 0)}\r\n\r\n${body}`,
      );
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const closed = await new Promise<readonly unknown[]>((resolve) => {
      nodeSockets(() => ({}))(`ws://127.0.0.1:${port}`, {
        opened: () => {},
        message: () => {},
        alive: () => {},
        closed: (...args) => resolve(args),
      });
    });
    expect(closed).toMatchObject([reason, { status: Number(head.slice(0, 3)) }]);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
});
