import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NodeShare } from "@svc-runtime/engine";
import { serverConfigs, tryFileLock } from "@svc-runtime/engine/cluster";
import { freePortLike, isFree } from "../engine/free-port.ts";
import { CommandFailure } from "../exit-codes.ts";
import { nodeName } from "./node-name.ts";

const CLUSTER = "dev";
/** Number of NATS servers. */
const SERVERS = 3;
const HOST = "127.0.0.1";
const FIRST_SERVER_PORT = 4222;
/** Servers reach one another at the port that is this much higher. */
const ROUTE_PORT_OFFSET = 2_000;
const MAX_TRIED_PORTS = 200;
const DEFAULT_PORTS = { bridge: 49_134, http: 3111, realtime: 3112 };

/** Ports of the command line. Undefined: that of the config file. */
export interface GivenPorts {
  readonly bridge?: number | undefined;
  readonly http?: number | undefined;
  readonly realtime?: number | undefined;
}

export interface PlannedServer {
  readonly name: string;
  readonly url: string;
  readonly configFile: string;
}

export interface PlannedNode {
  /** From `a` on. */
  readonly name: string;
  readonly dataDir: string;
  readonly ports: GivenPorts;
  readonly share: NodeShare;
}

export interface ClusterPlan {
  readonly servers: readonly PlannedServer[];
  readonly nodes: readonly PlannedNode[];
  /** Lets another `svc dev` use the folder. */
  release(): void;
}

/**
 * Chooses ports for the servers and engines of a cluster on this machine, writes the servers' files, and locks the
 * folder. Throws a CommandFailure if another process uses it.
 */
export async function planCluster(folder: string, count: number, given: GivenPorts): Promise<ClusterPlan> {
  const natsFolder = join(folder, "nats");
  mkdirSync(natsFolder, { recursive: true, mode: 0o700 });
  const lock = tryFileLock(join(folder, "dev.lock"));
  if (lock === undefined)
    throw new CommandFailure(`Another svc dev --cluster runs this project's cluster (${folder}).`, {
      advice: ["Stop that one first: press Ctrl-C in its terminal"],
    });
  try {
    const ports = await serverPorts();
    const servers = ports.map((port) => ({ host: HOST, port }));
    const files = serverConfigs({ cluster: CLUSTER, servers, folder: natsFolder });
    const planned = files.map((text, index): PlannedServer => {
      const name = `n${index + 1}`;
      const configFile = join(natsFolder, `${name}.conf`);
      writeFileSync(configFile, text);
      return { name, url: `nats://${HOST}:${ports[index]}`, configFile };
    });
    const urls = planned.map(({ url }) => url);
    const portsOfNodes = await nodePorts(count, given);
    return {
      servers: planned,
      nodes: portsOfNodes.map((own, at) => {
        const name = nodeName(at);
        const ownFolder = join(folder, name);
        const cluster = { name: CLUSTER, node: name, nats: { servers: urls } };
        return {
          name,
          dataDir: join(ownFolder, "data"),
          ports: own,
          share: { cluster, folder: ownFolder, at, of: count },
        };
      }),
      release: () => lock.release(),
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function serverPorts(): Promise<readonly number[]> {
  const ports: number[] = [];
  for (let port = FIRST_SERVER_PORT; ports.length < SERVERS; port++) {
    if (port >= FIRST_SERVER_PORT + MAX_TRIED_PORTS)
      throw new CommandFailure(`There are no free ports for NATS servers from ${FIRST_SERVER_PORT} on.`);
    if ((await isFree(port)) && (await isFree(port + ROUTE_PORT_OFFSET))) ports.push(port);
  }
  return ports;
}

/** Returns the ports of the engines: the given ones for the first, free ones near them for the others. */
async function nodePorts(count: number, given: GivenPorts): Promise<readonly GivenPorts[]> {
  const taken: number[] = [];
  const near = async (port: number): Promise<number> => {
    const free = port === 0 ? 0 : await freePortLike(port, taken);
    taken.push(free);
    return free;
  };
  const nodes: GivenPorts[] = [given];
  while (nodes.length < count)
    nodes.push({
      bridge: await near(given.bridge ?? DEFAULT_PORTS.bridge),
      http: await near(given.http ?? DEFAULT_PORTS.http),
      realtime: await near(given.realtime ?? DEFAULT_PORTS.realtime),
    });
  return nodes;
}
