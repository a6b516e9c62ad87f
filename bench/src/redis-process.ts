import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { accepts, freePorts, pause } from "./ports.ts";
import { adopt, pidOf, type Server, stopProcess } from "./processes.ts";

const LISTEN_TIMEOUT_MS = 10_000;
const PROBE_MS = 10;

/**
 * Starts `redis-server` with an append-only file in `folder` that is synced with each write. Returns undefined if the
 * program is missing.
 */
export async function startDurableRedis(folder: string): Promise<Server | undefined> {
  mkdirSync(folder, { recursive: true });
  const [port] = (await freePorts(1)) as [number];
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
    "always",
  ];
  const child = spawn("redis-server", args, { stdio: "ignore" });
  const failed = new Promise<Error>((resolve) => child.once("error", resolve));
  const started = new Promise<undefined>((resolve) => child.once("spawn", () => resolve(undefined)));
  if ((await Promise.race([failed, started])) !== undefined) return undefined;
  adopt(child);
  const giveUpMs = performance.now() + LISTEN_TIMEOUT_MS;
  while (!(await accepts(port))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("redis-server ended at its start");
    if (performance.now() > giveUpMs) {
      await stopProcess(child);
      throw new Error(`redis-server did not listen within ${LISTEN_TIMEOUT_MS} ms`);
    }
    await pause(PROBE_MS);
  }
  return { pid: pidOf(child), port, stop: () => stopProcess(child) };
}
