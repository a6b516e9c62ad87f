import { on, once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tokenOfSubprotocols } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { connect } from "../browser.ts";
import { silentLogger } from "../logger.ts";

// `ws` replaces the platform's WebSocket, since it has the same interface. An e2e test uses a real browser.
const platform = globalThis as { WebSocket?: unknown };
const before = platform.WebSocket;
let server: WebSocketServer;

beforeEach(async () => {
  platform.WebSocket = WebSocket;
  server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
});

afterEach(async () => {
  platform.WebSocket = before;
  for (const client of server.clients) client.terminate();
  await new Promise((resolve) => server.close(resolve));
});

const port = (): number => (server.address() as AddressInfo).port;

describe("a page's connection", () => {
  it.each([
    ["the option", () => [`ws://127.0.0.1:${port()}`, { token: "sécret" }] as const],
    ["the password in the address", () => [`ws://svc:s%C3%A9cret@127.0.0.1:${port()}`, {}] as const],
    ["the option before the password", () => [`ws://svc:other@127.0.0.1:${port()}`, { token: "sécret" }] as const],
  ])("offers its token as a subprotocol, by %s, and no credentials in the address", async (_name, how) => {
    const [address, options] = how();
    const connection = once(server, "connection");
    const page = connect(address, { logger: silentLogger, ...options });
    const [socket, request] = (await connection) as [WebSocket, IncomingMessage];
    expect(tokenOfSubprotocols(request.headers["sec-websocket-protocol"])).toBe("sécret");
    expect(request.headers.authorization).toBeUndefined();
    expect(socket.protocol).toBe("svc");
    await page.shutdown({ timeoutMs: 1 });
  });

  it("offers no subprotocol without a token", async () => {
    const connection = once(server, "connection");
    const page = connect(`ws://127.0.0.1:${port()}`, { logger: silentLogger });
    const [, request] = (await connection) as [WebSocket, IncomingMessage];
    expect(request.headers["sec-websocket-protocol"]).toBeUndefined();
    await page.shutdown({ timeoutMs: 1 });
  });

  it("can be terminated before it is open", async () => {
    const page = connect(`ws://127.0.0.1:${port()}`, { logger: silentLogger });
    await page.shutdown({ timeoutMs: 1 });
    expect(page.connectionState).toBe("closed");
  });

  it("rejects an invalid token when it is created", () => {
    expect(() => connect(`ws://127.0.0.1:${port()}`, { logger: silentLogger, token: "" })).toThrow(TypeError);
  });

  it("writes and reads channels, and aborts with a code that is not a normal end", async () => {
    const page = connect(`ws://127.0.0.1:${port()}`, { logger: silentLogger, token: "t" });
    const connections = on(server, "connection") as AsyncIterableIterator<[WebSocket, IncomingMessage]>;
    const nextEnd = async (): Promise<{ readonly socket: WebSocket; readonly request: IncomingMessage }> => {
      for (;;) {
        const { value } = await connections.next();
        const [socket, request] = value as [WebSocket, IncomingMessage];
        if (request.url?.startsWith("/ws/channels/")) return { socket, request };
      }
    };
    const writer = page.openChannel({ channel_id: "c", access_key: "k", direction: "write" });
    const writing = writer.write(new Uint8Array(70_000));
    const out = await nextEnd();
    expect(out.request.headers["sec-websocket-protocol"]).toBeUndefined();
    const sizes: number[] = [];
    out.socket.on("message", (data) => sizes.push((data as Buffer).length));
    const closed = once(out.socket, "close");
    await writing;
    await writer.end();
    expect((await closed)[0]).toBe(1000);
    expect(sizes).toEqual([65_536, 4_464]);

    const reader = page.openChannel({ channel_id: "c", access_key: "k", direction: "read" });
    const text = reader.text();
    const incoming = await nextEnd();
    incoming.socket.send("a");
    incoming.socket.send(Buffer.from("b"));
    incoming.socket.close();
    expect(await text).toBe("ab");

    const broken = page.openChannel({ channel_id: "d", access_key: "k", direction: "write" });
    const first = broken.send("x");
    const half = await nextEnd();
    const halfClosed = once(half.socket, "close");
    await first;
    broken.abort();
    expect((await halfClosed)[0]).toBe(4000);
    await page.shutdown({ timeoutMs: 1 });
  });
});
