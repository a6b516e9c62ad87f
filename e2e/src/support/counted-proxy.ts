import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CountedProxy {
  readonly port: number;
  /** Bytes that the server has sent to clients. */
  bytes(): number;
  close(): Promise<void>;
}

/** Forwards connections to a port of localhost, and counts what the server sends, as it is sent: compressed. */
export async function startCountedProxy(port: number): Promise<CountedProxy> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((client) => {
    const upstream = connect(port, "localhost");
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy()).on("close", () => sockets.delete(one));
    }
    upstream.on("data", (chunk) => {
      count += chunk.length;
    });
    client.pipe(upstream).pipe(client);
  });
  await once(server.listen(0, "localhost"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    bytes: () => count,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
