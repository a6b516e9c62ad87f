import { once } from "node:events";
import { createServer } from "node:net";

// Below the system's range for outgoing connections: such a connection could take a port between the check and its use.
const FIRST = 15_000;
const LAST = 32_000;
/** Ports per block, its lock included. */
const BLOCK_SIZE = 32;

/** Next port of this process's block, and the end of the block. */
let next = 0;
let end = 0;

/** Returns a free port that no other process of any test run on this machine receives. Returns each port only once. */
export async function freePort(): Promise<number> {
  for (;;) {
    while (next === end) await reserveBlock();
    const port = next++;
    if (await isFree(port)) return port;
  }
}

/** Returns three such ports, for an engine. */
export async function freePorts(): Promise<{
  readonly bridge: number;
  readonly http: number;
  readonly realtime: number;
}> {
  return { bridge: await freePort(), http: await freePort(), realtime: await freePort() };
}

/**
 * Reserves a block of ports until this process ends. The lock is a server on the block's first port: binding a port is
 * atomic, and the system releases it even if the process is killed.
 */
async function reserveBlock(): Promise<void> {
  const blocks = Math.floor((LAST - FIRST) / BLOCK_SIZE);
  for (;;) {
    const lock = FIRST + BLOCK_SIZE * Math.floor(Math.random() * blocks);
    if (!(await isFree(lock, { keep: true }))) continue;
    next = lock + 1;
    end = lock + BLOCK_SIZE;
    return;
  }
}

/** Checks whether the port is free by binding it. Keeps it bound if `keep` is true. */
async function isFree(port: number, { keep = false } = {}): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
  } catch {
    return false;
  }
  server.unref();
  if (!keep) await once(server.close(), "close");
  return true;
}
