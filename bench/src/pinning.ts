import { spawnSync } from "node:child_process";
import { cpus } from "node:os";

/** Part of util-linux; not on every machine. */
const PROGRAM = "taskset";
const LOAD_CORE = 0;
const SERVER_CORE = 1;

/** What the reader is told where processes run wherever the scheduler puts them. */
export const NOT_BOUND = "processes could not be bound to cores (no taskset, or one core only): expect these figures to jump";

/** Binds a process, with all its threads, to the given core. False where the system has no `taskset`. */
function pinToCore(pid: number, core: number): boolean {
  return spawnSync(PROGRAM, ["--all-tasks", "--cpu-list", "--pid", String(core), String(pid)], { stdio: "ignore" }).status === 0;
}

/** Where a server runs, seen from the load generator. */
export type Layout = "one core" | "two cores";

/**
 * Puts a server on the load's core, or on another one. Waking another core costs several times what switching processes on one
 * core does, and the scheduler left alone goes back and forth between the two, so that a figure would depend on its mood.
 */
export function place(serverPid: number, layout: Layout): void {
  pinToCore(serverPid, layout === "one core" ? LOAD_CORE : SERVER_CORE);
}

/** Binds the load generator to its core. False when processes cannot be bound here. */
export function placeLoad(generatorPid: number): boolean {
  return cpus().length > 1 && pinToCore(generatorPid, LOAD_CORE);
}

/** Load on one core, every server on another. Gives the note for the reader when that cannot be had. */
export function placeApart(generatorPid: number, serverPids: readonly number[]): readonly string[] {
  if (!placeLoad(generatorPid)) return [NOT_BOUND];
  for (const pid of serverPids) place(pid, "two cores");
  return [];
}
