import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { freePort } from "@svc-runtime/protocol/testing";
import { afterEach, expect, it } from "vitest";
import { createLogger, silentLogger } from "../../kernel/logger.ts";
import { connectNats, type NatsClient } from "./connect.ts";

interface Listener {
  readonly url: string;
  readonly connections: Socket[];
  close(): void;
}

const listeners: Listener[] = [];
const clients: NatsClient[] = [];

async function listen(greeting: string, port = 0): Promise<Listener> {
  const connections: Socket[] = [];
  const server: Server = createServer((socket) => {
    connections.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (data) => data.includes("PING") && socket.write("PONG\r\n"));
    socket.write(`${greeting}\r\n`);
  });
  await once(server.listen(port, "127.0.0.1"), "listening");
  const listener = {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections,
    close: () => {
      server.close();
      for (const socket of connections) socket.destroy();
    },
  };
  listeners.push(listener);
  return listener;
}

/** A server that only greets and answers pings. */
const listenAsNats = (port?: number, more: object = {}): Promise<Listener> => {
  const info = { server_id: "x", version: "2.10.23", proto: 1, headers: true, max_payload: 1_048_576, ...more };
  return listen(`INFO ${JSON.stringify(info)}`, port);
};

async function connectTo(servers: readonly string[], onWait = (): void => {}): Promise<NatsClient> {
  const logger = createLogger({ level: "warn", now: () => 0, write: onWait });
  const client = await connectNats({
    ...{ settings: { servers, replicas: 1 }, cluster: "test", node: "a", logger, startWaitMs: 10_000 },
  });
  clients.push(client);
  return client;
}

afterEach(async () => {
  for (const client of clients.splice(0)) await client.nats.close();
  for (const listener of listeners.splice(0)) listener.close();
});

it("waits for the other servers although addresses lead to something else", async () => {
  const wrong = await listen("HTTP/1.1 400 Bad Request");
  const port = await freePort();
  const later = `nats://127.0.0.1:${port}`;
  let start = (): void => {};
  const starting = new Promise<void>((resolve) => {
    start = resolve;
  }).then(() => listenAsNats(port));
  // So many that the last one that is tried is most likely one of them.
  const client = await connectTo([...Array<string>(9).fill(wrong.url), later], () => start());
  expect(client.nats.getServer()).toBe(later.slice("nats://".length));
  await starting;
});

it("ends at once if all addresses lead to something else", async () => {
  const wrong = [await listen("HTTP/1.1 400 Bad Request"), await listen("220 mail")];
  await expect(connectTo(wrong.map(({ url }) => url))).rejects.toThrow("is no NATS server, or the address is wrong");
});

it("does not go to an address that a server announces without TLS", async () => {
  const announced = await listenAsNats();
  const configured = await listenAsNats(0, { connect_urls: [announced.url.slice("nats://".length)] });
  const client = await connectNats({
    settings: { servers: [configured.url], replicas: 1 },
    ...{ cluster: "test", node: "a", logger: silentLogger },
  });
  clients.push(client);
  const attempts = (async () => {
    let count = 0;
    for await (const { type } of client.nats.status()) {
      if (type === "reconnecting") count += 1;
      if (type === "reconnect" || count === 3) return;
    }
  })();
  configured.close();
  await attempts;
  expect(announced.connections).toEqual([]);
  await client.nats.close();
});
