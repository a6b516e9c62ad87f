import type { ChildProcess } from "node:child_process";
import { mkdirSync } from "node:fs";
import { startRedis } from "@svc-runtime/engine/testing";
import { freePorts } from "./ports.ts";
import { adopt, pidOf, type Server, stopProcess } from "./processes.ts";

/**
 * Starts `redis-server` with an append-only file in `folder` that is synced with each write. Returns undefined if the
 * program is missing.
 */
export async function startDurableRedis(folder: string): Promise<Server | undefined> {
  mkdirSync(folder, { recursive: true });
  const [port] = (await freePorts(1)) as [number];
  let child: ChildProcess;
  try {
    child = await startRedis(port, folder, ["--appendfsync", "always"]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  adopt(child);
  return { pid: pidOf(child), port, stop: () => stopProcess(child) };
}
