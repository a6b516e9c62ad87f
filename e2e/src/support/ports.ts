import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Ports } from "./cli.ts";

/** Three ports that are free now. They are asked for together, so they differ. */
export async function freePorts(): Promise<Ports> {
  const servers = [createServer(), createServer(), createServer()];
  await Promise.all(servers.map((server) => once(server.listen(0, "127.0.0.1"), "listening")));
  const [bridge, http, realtime] = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return { bridge: bridge as number, http: http as number, realtime: realtime as number };
}
