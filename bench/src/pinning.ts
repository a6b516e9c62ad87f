import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";

/** Program that binds processes to cores. It is part of util-linux, which not every machine has. */
const PROGRAM = "taskset";
/** Program that changes scheduling priorities. It is part of util-linux too. */
const PRIORITY_PROGRAM = "chrt";
const LOAD_CORE = 0;
const SERVER_CORE = 1;

/** Note in the results if the scheduler chooses the cores. */
export const NOT_BOUND =
  "processes could not be bound to cores (no taskset, or one core only): expect these values to vary";

/** Binds a process, with all its threads, to the given core. Returns false if the system has no `taskset`. */
function pinToCore(pid: number, core: number): boolean {
  return (
    spawnSync(PROGRAM, ["--all-tasks", "--cpu-list", "--pid", String(core), String(pid)], { stdio: "ignore" })
      .status === 0
  );
}

/** Binds a process to the cores of another one. Does nothing if the system has no `taskset`. */
export function placeLike(modelPid: number, pid: number): void {
  const allowed = /^Cpus_allowed_list:\s*(.+)$/m.exec(readFileSync(`/proc/${modelPid}/status`, "utf8"))?.[1];
  if (allowed !== undefined)
    spawnSync(PROGRAM, ["--all-tasks", "--cpu-list", "--pid", allowed, String(pid)], { stdio: "ignore" });
}

/** `one core`: the server runs on the core of the load generator. `two cores`: it runs on another core. */
export type Layout = "one core" | "two cores";

/**
 * Binds a server to the load generator's core or to another core. Waking a process on another core costs several times
 * as much as switching processes on one core. Without binding, the scheduler would alternate between both, and the
 * values would vary.
 */
export function place(serverPid: number, layout: Layout): void {
  pinToCore(serverPid, layout === "one core" ? LOAD_CORE : SERVER_CORE);
}

/** Binds the load generator to its core. Returns false if processes cannot be bound here. */
export function placeLoad(generatorPid: number): boolean {
  return cpus().length > 1 && pinToCore(generatorPid, LOAD_CORE);
}

/** Puts the load on one core and every server on another. Returns a note for the reader if that is not possible. */
export function placeApart(generatorPid: number, serverPids: readonly number[]): readonly string[] {
  if (!placeLoad(generatorPid)) return [NOT_BOUND];
  for (const pid of serverPids) place(pid, "two cores");
  return [];
}

/**
 * Returns the path of a script in `folder` that runs the program and its child processes with only the processor time
 * that no other process needs. Returns the program itself if the system has no `chrt`.
 */
export function idleProgram(program: string, folder: string): string {
  if (spawnSync(PRIORITY_PROGRAM, ["--idle", "0", "true"], { stdio: "ignore" }).status !== 0) return program;
  const path = join(folder, "idle-program");
  writeFileSync(path, `#!/bin/sh\nexec ${PRIORITY_PROGRAM} --idle 0 '${program}' "$@"\n`, { mode: 0o755 });
  return path;
}
