import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Listener, refuseUpgrade } from "./listener.ts";

const undo: (() => void)[] = [];
afterEach(() => {
  for (const close of undo.splice(0).reverse()) close();
});

const UPGRADE = ["GET /nope HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket", "", ""].join(
  "\r\n",
);

/** Returns false if the listener closes the connection without a response. */
async function isLetIn(port: number): Promise<boolean> {
  const client = connect(port, "127.0.0.1");
  undo.push(() => client.destroy());
  client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return new Promise((resolve) => {
    client.on("data", () => resolve(true));
    client.on("error", () => {});
    client.on("close", () => resolve(false));
  });
}

describe("a client that was refused", () => {
  it.each([
    ["an upgrade", UPGRADE, "404"],
    ["a request that is not HTTP", "NONSENSE\r\n\r\n", "400"],
  ])("and does not close its side is cut off soon: %s (1.4)", async (_what, request, status) => {
    const listener = new Listener({
      what: "test",
      onRequest: (_request, response) => response.end(),
      maxConnectionsPerAddress: () => 1,
      onUpgrade: (_request, stream) => refuseUpgrade(stream, "404 Not Found", "NOT_FOUND", "nothing here"),
    });
    await listener.bind({ host: "127.0.0.1", port: 0 });
    undo.push(() => listener.close());
    const client = connect({ port: listener.port, host: "127.0.0.1", allowHalfOpen: true });
    undo.push(() => client.destroy());
    let answer = "";
    client.on("data", (chunk: Buffer) => {
      answer += chunk.toString();
    });
    client.write(request);
    await once(client, "end");
    expect(answer).toContain(`HTTP/1.1 ${status} `);
    // This machine may have one connection here, so another is admitted when that one has ended. The client has closed
    // nothing.
    while (!(await isLetIn(listener.port))) expect(client.writable).toBe(true);
  });
});
