import type { OpenIdle } from "./load.ts";
import { Peer } from "./peer.ts";

const BATCH = 100;

let idle: Peer[] = [];
let lost = 0;

/** Opens the connections in batches. Resolves when the engine has registered the functions of all connections. */
export async function openIdle({ port, connections }: OpenIdle): Promise<void> {
  lost = 0;
  while (idle.length < connections) {
    const first = idle.length;
    const batch = Array.from({ length: Math.min(BATCH, connections - first) }, (_, index) =>
      openOne(port, first + index),
    );
    idle.push(...(await Promise.all(batch)));
  }
}

async function openOne(port: number, index: number): Promise<Peer> {
  const peer = await Peer.connect(port, `bench-idle-${index}`, {
    onInvocation() {},
    onLost: () => {
      lost++;
    },
  });
  peer.send({ type: "registerfunction", id: `bench::idle-${index}` });
  await peer.settled();
  return peer;
}

/** Closes all connections. Throws if one had ended before, because then too few connections were measured. */
export function closeIdle(): void {
  const lostConnections = lost;
  for (const peer of idle) peer.close();
  idle = [];
  if (lostConnections > 0) throw new Error(`the engine dropped ${lostConnections} idle connections`);
}
