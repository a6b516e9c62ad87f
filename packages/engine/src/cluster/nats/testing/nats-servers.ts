import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "@svc-runtime/protocol/testing";
import { type ServerConfigOptions, serverConfig } from "../server-config.ts";

const START_TIMEOUT_MS = 30_000;
/** What a server logs when it accepts clients. */
const READY = "Server is ready";

/** Where a server or an engine runs. */
export interface Machine {
  /** Address at which the others reach it. */
  readonly address: string;
  /** Command that runs a program on the machine, e.g. `ip netns exec NAME`. Empty for this machine. */
  readonly command: readonly string[];
}

const THIS_MACHINE: Machine = { address: "127.0.0.1", command: [] };

/** A NATS server with a folder of its own. */
export interface NatsServer {
  readonly port: number;
  readonly url: string;
  readonly process: ChildProcess;
  /** Kills it at once. */
  kill(): Promise<void>;
  /** Starts it again, with the same port and folder. */
  restart(): Promise<void>;
}

export interface NatsServers {
  readonly servers: readonly NatsServer[];
  readonly urls: readonly string[];
  /** Kills all servers and removes their folders. */
  stop(): Promise<void>;
}

/** Starts servers that are one cluster, as `svc cluster nats-config` describes them. Resolves when all accept clients. */
export async function startNatsServers(
  cluster: string,
  count: number,
  {
    storeFolder,
    machines = [],
    ...options
  }: Partial<ServerConfigOptions> & {
    /** Where each server stores its streams, in a folder with its name. Default: a folder that `stop` removes. */
    readonly storeFolder?: string;
    /** Machine of each server. Default: this one, on loopback. */
    readonly machines?: readonly Machine[];
  } = {},
): Promise<NatsServers> {
  const folder = mkdtempSync(join(tmpdir(), "svc-nats-"));
  const ports = await Promise.all(Array.from({ length: 2 * count }, () => freePort()));
  const machineAt = (at: number): Machine => machines[at] ?? THIS_MACHINE;
  const routeAddresses = ports.slice(count).map((port, at) => `${machineAt(at).address}:${port}`);
  const routes = routeAddresses.map((address) => `nats://${address}`);
  const servers = await Promise.all(
    ports.slice(0, count).map((port, at) => {
      const name = `n${at + 1}`;
      const machine = machineAt(at);
      const config = serverConfig({
        ...{ cluster, name, routes, listen: `${machine.address}:${port}` },
        storeDir: join(storeFolder ?? folder, name),
        clusterListen: routeAddresses[at] as string,
        ...options,
      });
      return startNatsServer({ folder, name, port, config, machine });
    }),
  );
  return {
    servers,
    urls: servers.map(({ url }) => url),
    async stop() {
      await Promise.all(servers.map((server) => server.kill()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts one server with its file. Resolves when it accepts clients. */
export async function startNatsServer(options: {
  readonly folder: string;
  readonly name: string;
  readonly port: number;
  readonly config: string;
  /** Default: this machine, on loopback. */
  readonly machine?: Machine;
}): Promise<NatsServer> {
  const { folder, name, port, config, machine = THIS_MACHINE } = options;
  const file = join(folder, `${name}.conf`);
  writeFileSync(file, config);
  const start = async (): Promise<ChildProcess> => {
    const [program = "", ...args] = [...machine.command, natsProgram(), "-c", file];
    const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
    let output = "";
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve, reject) => {
      const fail = (how: string): void => {
        child.kill("SIGKILL");
        reject(new Error(`nats-server ${how}: ${output}`));
      };
      child.stderr.on("data", (chunk: Buffer) => {
        if (output.includes(READY)) return;
        output += chunk.toString();
        if (output.includes(READY)) resolve();
      });
      child.once("error", reject);
      child.once("exit", () => fail("ended at its start"));
      timer = setTimeout(() => fail(`is not ready after ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS);
    }).finally(() => clearTimeout(timer));
    return child;
  };
  let running = await start();
  return {
    port,
    url: `nats://${machine.address}:${port}`,
    get process() {
      return running;
    },
    async kill() {
      if (running.exitCode !== null || running.signalCode !== null) return;
      const exited = once(running, "exit");
      running.kill("SIGKILL");
      await exited;
    },
    async restart() {
      running = await start();
    },
  };
}

/** Returns the program that `scripts/nats-server.mjs` found or installed. */
export function natsProgram(): string {
  const named = process.env.SVC_TEST_NATS_SERVER;
  if (named) return named;
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, ".cache/nats/program.txt");
    if (existsSync(file)) return readFileSync(file, "utf8").trim();
  }
  throw new Error("there is no NATS server for tests: run `node scripts/nats-server.mjs`");
}
