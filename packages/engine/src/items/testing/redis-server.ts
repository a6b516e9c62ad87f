import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "@svc-runtime/protocol/testing";

const START_TIMEOUT_MS = 30_000;

/** Debian's Redis server with its own folder. */
export interface RedisServer {
  readonly port: number;
  /** Its folder, with the append-only file. */
  readonly folder: string;
  readonly url: string;
  /** The running process. */
  readonly process: ChildProcess;
  /** Kills the server and starts it with the same port and folder. */
  restart(options?: readonly string[]): Promise<void>;
  /** Kills the server. */
  kill(): Promise<void>;
  /** Stops the server and removes its folder. */
  stop(): Promise<void>;
}

/**
 * Starts `redis-server` on a free port, with an append-only file that is not synced unless `options` say otherwise,
 * e.g. `["--appendfsync", "always"]`.
 */
export async function startRedisServer(options: readonly string[] = []): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "svc-redis-"));
  const port = await freePort();
  let running = await startRedis(port, folder, options);
  async function kill(): Promise<void> {
    if (running.exitCode !== null || running.signalCode !== null) return;
    const exited = once(running, "exit");
    running.kill("SIGKILL");
    await exited;
  }
  return {
    port,
    folder,
    url: `redis://127.0.0.1:${port}`,
    get process() {
      return running;
    },
    kill,
    async restart(others = options) {
      await kill();
      running = await startRedis(port, folder, others);
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the output of `redis-cli`. */
export async function redisCli(server: RedisServer, ...command: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("redis-cli", ["-p", String(server.port), ...command], {
    timeout: START_TIMEOUT_MS,
  });
  return stdout;
}

/** Starts `redis-server` and resolves when it listens. Rejects with code ENOENT if the program is missing. */
export async function startRedis(port: number, folder: string, options: readonly string[]): Promise<ChildProcess> {
  const args = [
    "--port",
    String(port),
    "--bind",
    "127.0.0.1",
    "--dir",
    folder,
    "--save",
    "",
    "--appendonly",
    "yes",
    "--appendfsync",
    "no",
    ...options,
  ];
  const child = spawn("redis-server", args, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`redis-server did not start within ${START_TIMEOUT_MS} ms: ${output}`)),
      START_TIMEOUT_MS,
    );
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`redis-server ended at its start: ${output}`)));
    child.stdout.on("data", (chunk: Buffer) => {
      if (output.length < 10_000) output += chunk.toString();
      if (!output.includes("Ready to accept connections")) return;
      clearTimeout(timer);
      resolve();
    });
  });
  return child;
}
