import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NodeShare } from "@svc-runtime/engine";
import { serverConfigs, tryFileLock } from "@svc-runtime/engine/cluster";
import { clusterFolder } from "../engine/announced-engine.ts";
import { freePortLike, isFree } from "../engine/free-port.ts";
import { CommandFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { nodeName } from "./node-name.ts";

const CLUSTER = "dev";
/** Number of NATS servers. */
const SERVERS = 3;
const HOST = "127.0.0.1";
const FIRST_SERVER_PORT = 4222;
/** Difference between the port to which the other servers connect and the port for clients. */
const ROUTE_PORT_OFFSET = 2_000;
const MAX_TRIED_PORTS = 200;

/** Ports from the command line. An undefined port is taken from the config file. */
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
  /** Name from `nodeName`: `a` for the first engine. */
  readonly name: string;
  readonly dataDir: string;
  readonly ports: GivenPorts;
  readonly share: NodeShare;
}

export interface ClusterPlan {
  readonly servers: readonly PlannedServer[];
  readonly nodes: readonly PlannedNode[];
  /** Releases the lock on the folder, so that another `svc dev` can use the folder. */
  release(): void;
}

export interface WantedCluster {
  /** Absolute path. */
  readonly configFile: string;
  /** Number of engines. */
  readonly count: number;
  /** Ports for the first engine. */
  readonly given: GivenPorts;
}

/**
 * Chooses ports for the servers and engines of a cluster on this machine, writes the servers' files, and locks the
 * folder. Throws a CommandFailure if another process uses the folder or the config file is invalid.
 */
export async function planCluster(
  shell: Pick<Shell, "env" | "cwd">,
  { configFile, count, given }: WantedCluster,
): Promise<ClusterPlan> {
  const folder = clusterFolder(configFile);
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
    const shares = Array.from({ length: count }, (_, at): NodeShare => {
      const name = nodeName(at);
      const cluster = { name: CLUSTER, node: name, nats: { servers: urls } };
      return { cluster, folder: join(folder, name), at, of: count };
    });
    const [share] = shares;
    const first = await portsOf(shell, configFile, { given, share });
    const nodes: PlannedNode[] = [];
    for (const own of shares)
      nodes.push({
        name: nodeName(own.at),
        dataDir: join(own.folder, "data"),
        ports: own.at === 0 ? given : await portsNear(first),
        share: own,
      });
    return {
      servers: planned,
      nodes,
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

/** Ports of the first engine. */
interface FirstPorts {
  readonly bridge: number;
  readonly http: number;
  readonly realtime: number;
  /** All ports in use by engines of the cluster. `portsNear` adds the ports that it chooses. */
  readonly taken: number[];
}

/** Returns the ports at which the first engine will listen. */
async function portsOf(
  { env, cwd }: Pick<Shell, "env" | "cwd">,
  configFile: string,
  { given, share }: { readonly given: GivenPorts; readonly share: NodeShare | undefined },
): Promise<FirstPorts> {
  const { ConfigError, loadConfig, loadModules } = await import("@svc-runtime/engine");
  const overrides = { bridgePort: given.bridge, httpPort: given.http, realtimePort: given.realtime, share };
  try {
    const { engine, http, realtime } = loadConfig(configFile, { env, modules: await loadModules(), overrides, cwd });
    const further = engine.bridges.map(({ address }) => address.port);
    return {
      bridge: engine.bridge.port,
      http: http.port,
      realtime: realtime.port,
      taken: [engine.bridge.port, http.port, realtime.port, ...further],
    };
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandFailure(error.message, { cause: error });
    throw error;
  }
}

/** Returns free ports for a further engine, near the ports of the first engine. */
async function portsNear({ bridge, http, realtime, taken }: FirstPorts): Promise<GivenPorts> {
  const near = async (port: number): Promise<number> => {
    const free = port === 0 ? 0 : await freePortLike(port, taken);
    taken.push(free);
    return free;
  };
  return { bridge: await near(bridge), http: await near(http), realtime: await near(realtime) };
}
