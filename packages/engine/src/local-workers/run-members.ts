import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { findProcess, listProcesses, membersOf, type ProcessEntry, signalIfThere } from "./process-table.ts";
import { RUN_VARIABLE, runIdsIn } from "./run-marker.ts";

const run = promisify(execFile);
const LINUX = process.platform === "linux";
/** The kernel holds back who reads the environment of a process that hangs in a page fault. */
const READ_TIMEOUT_MS = 500;
/** A process that was forked during a pass may be missed by it, and one that replaces its program has no environment for a moment. */
const CLEAN_PASSES = 2;
const MAX_PASSES = 100;

/** A process that belongs to a run. */
export interface RunMember extends ProcessEntry {
  /** True when it belongs to a run of an engine that is itself part of this run. */
  readonly isNested: boolean;
}

export interface RunIdentity {
  readonly id: string;
  /** Start time of its first process; older processes are not looked at. Undefined when it is unknown. */
  readonly since: string | undefined;
}

/**
 * Finds the processes of a run: the members of its group, those that carry its marker, and the descendants of either. Only processes of
 * our own user are found outside the group. A process without the marker, such as one started by `env -i`, is found while its parent lives.
 */
export class RunMembers {
  readonly #identity: RunIdentity;
  /** Run ids of each process that was looked at, by pid and start time; none for a process of no run. */
  #known = new Map<string, readonly string[]>();

  constructor(identity: RunIdentity) {
    this.#identity = identity;
  }

  /** Returns the members that have not ended, in no order. `group`: id of the run's group while it cannot mean another one. Never includes this process. */
  async find(group?: number): Promise<readonly RunMember[]> {
    const processes = (await listProcesses()).filter((entry) => !entry.zombie && entry.pid !== process.pid && this.#isYoungEnough(entry));
    const idsOf = await this.#readMarkers(processes);
    const { id } = this.#identity;
    const members = new Map<number, RunMember>();
    for (const entry of group === undefined ? [] : membersOf(group, processes)) members.set(entry.pid, { ...entry, isNested: isNestedIn(id, idsOf(entry)) });
    for (const entry of processes) {
      const ids = idsOf(entry);
      if (!members.has(entry.pid) && ids.includes(id)) members.set(entry.pid, { ...entry, isNested: isNestedIn(id, ids) });
    }
    this.#addDescendants(members, processes);
    return [...members.values()];
  }

  #addDescendants(members: Map<number, RunMember>, processes: readonly ProcessEntry[]): void {
    let before: number;
    do {
      before = members.size;
      for (const entry of processes) {
        const parent = members.get(entry.parentPid);
        if (parent !== undefined && !members.has(entry.pid) && isOfOurUser(entry.pid)) members.set(entry.pid, { ...entry, isNested: parent.isNested });
      }
    } while (members.size > before);
  }

  /** Start times are counted in ticks since the boot on Linux only. */
  #isYoungEnough(entry: ProcessEntry): boolean {
    const { since } = this.#identity;
    return since === undefined || !LINUX || Number(entry.startTime) >= Number(since);
  }

  async #readMarkers(processes: readonly ProcessEntry[]): Promise<(entry: ProcessEntry) => readonly string[]> {
    const known = new Map<string, readonly string[]>();
    const elsewhere = LINUX ? undefined : await environmentsByPs();
    for (const entry of processes) {
      const key = keyOf(entry);
      const before = this.#known.get(key);
      // A process without a marker does not get one. One with a marker may replace its program by an engine's launcher, which has another one.
      if (before?.length === 0) {
        known.set(key, before);
        continue;
      }
      const environment = elsewhere === undefined ? await readEnvironment(entry.pid) : (elsewhere.get(entry.pid) ?? "");
      const ids = runIdsIn(environment);
      if (ids.length > 0) known.set(key, ids);
      else if (before !== undefined) known.set(key, before);
      else if (environment !== "") known.set(key, ids);
    }
    this.#known = known;
    return (entry) => known.get(keyOf(entry)) ?? [];
  }
}

/** Sends SIGKILL to all that `find` returns, until passes in a row find nothing else: a member may fork while we look. */
export async function killMembers(find: () => Promise<readonly ProcessEntry[]>): Promise<void> {
  const killed = new Set<string>();
  let cleanPasses = 0;
  for (let pass = 0; pass < MAX_PASSES && cleanPasses < CLEAN_PASSES; pass++) {
    const found = (await find()).filter((entry) => !killed.has(keyOf(entry)));
    cleanPasses = found.length === 0 ? cleanPasses + 1 : 0;
    for (const entry of found) {
      killed.add(keyOf(entry));
      await signalProcess(entry, "SIGKILL");
    }
  }
}

/** Signals exactly this process. Does nothing when it has ended, also if another process has its pid now. */
export async function signalProcess(entry: ProcessEntry, signal: NodeJS.Signals): Promise<void> {
  const current = await findProcess(entry.pid);
  if (current?.startTime === entry.startTime) signalIfThere(entry.pid, signal);
}

function isNestedIn(id: string, ids: readonly string[]): boolean {
  return ids.indexOf(id) > 0;
}

function keyOf(entry: ProcessEntry): string {
  return `${entry.pid} ${entry.startTime}`;
}

/** The user who may read `/proc/PID/environ`; root for a process that has hidden itself. */
function isOfOurUser(pid: number): boolean {
  if (!LINUX) return true;
  try {
    return statSync(`/proc/${pid}`).uid === process.geteuid?.();
  } catch {
    return false;
  }
}

/** Returns an empty string for a process that has ended, is another user's, or has no environment. */
async function readEnvironment(pid: number): Promise<string> {
  if (!isOfOurUser(pid)) return "";
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, READ_TIMEOUT_MS, "");
  });
  try {
    return await Promise.race([readFile(`/proc/${pid}/environ`, "latin1").catch(() => ""), timeUp]);
  } finally {
    clearTimeout(timer);
  }
}

/** Environments of our own processes by pid, as far as macOS shows them: it hides those of programs that are part of the system. */
async function environmentsByPs(): Promise<ReadonlyMap<number, string>> {
  const options = { timeout: 5_000, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await run("ps", ["-x", "-E", "-ww", "-o", "pid=,command="], options).catch(() => ({ stdout: "" }));
  const found = new Map<number, string>();
  for (const line of stdout.split("\n")) {
    const [, pid, value] = new RegExp(`^\\s*(\\d+)\\s.*\\s(${RUN_VARIABLE}=[0-9a-f:]+)(?:\\s|$)`).exec(line) ?? [];
    if (pid !== undefined && value !== undefined) found.set(Number(pid), value);
  }
  return found;
}
