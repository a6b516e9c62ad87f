import { once } from "node:events";
import { createServer } from "node:net";
import type { Ports } from "./cli.ts";

// Below the range that the system gives to outgoing connections: one of those could take a port between the asking and the use.
const FIRST = 15_000;
const LAST = 32_000;

/** Three ports that are free now, and differ. */
export async function freePorts(): Promise<Ports> {
  const found = new Set<number>();
  while (found.size < 3) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (await isFree(port)) found.add(port);
  }
  const [bridge, http, realtime] = found;
  return { bridge: bridge as number, http: http as number, realtime: realtime as number };
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
  } catch {
    return false;
  }
  await once(server.close(), "close");
  return true;
}
