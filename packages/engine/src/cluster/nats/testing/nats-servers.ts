import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "@svc-runtime/protocol/testing";
import { type ServerConfigOptions, serverConfig } from "../server-config.ts";

const START_TIMEOUT_MS = 30_000;
const RETRY_MS = 50;

/** A NATS server on loopback, with a folder of its own. */
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
    ...options
  }: Partial<ServerConfigOptions> & {
    /** Where each server stores its streams, in a folder with its name. Default: a folder that `stop` removes. */
    readonly storeFolder?: string;
  } = {},
): Promise<NatsServers> {
  const folder = mkdtempSync(join(tmpdir(), "svc-nats-"));
  const ports = await Promise.all(Array.from({ length: 2 * count }, () => freePort()));
  const routePorts = ports.slice(count);
  const routes = routePorts.map((port) => `nats://127.0.0.1:${port}`);
  const servers = await Promise.all(
    ports.slice(0, count).map((port, at) => {
      const name = `n${at + 1}`;
      const config = serverConfig({
        ...{ cluster, name, routes, listen: `127.0.0.1:${port}` },
        storeDir: join(storeFolder ?? folder, name),
        clusterListen: `127.0.0.1:${routePorts[at]}`,
        ...options,
      });
      return startNatsServer({ folder, name, port, config });
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
}): Promise<NatsServer> {
  const { folder, name, port, config } = options;
  const file = join(folder, `${name}.conf`);
  writeFileSync(file, config);
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(natsProgram(), ["-c", file], { stdio: ["ignore", "ignore", "pipe"] });
    let output = "";
    child.stderr.on("data", (chunk: Buffer) => {
      if (output.length < 20_000) output += chunk.toString();
    });
    const ended = once(child, "exit").then(() => {
      throw new Error(`nats-server ended at its start: ${output}`);
    });
    ended.catch(() => undefined);
    await Promise.race([ended, accepts(port)]);
    return child;
  };
  let running = await start();
  return {
    port,
    url: `nats://127.0.0.1:${port}`,
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

async function accepts(port: number): Promise<void> {
  const endsAt = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true));
      socket.on("error", () => resolve(false));
      socket.once("close", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
    if (isOpen) return;
    if (performance.now() >= endsAt) throw new Error(`nats-server does not listen on port ${port}`);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
