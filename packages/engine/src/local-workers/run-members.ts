import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { findProcess, listProcesses, membersOf, type ProcessEntry, signalIfThere } from "./process-table.ts";
import { RUN_VARIABLE, runIdsIn } from "./run-marker.ts";

const run = promisify(execFile);
const LINUX = process.platform === "linux";
/** Timeout of reading an environment, in milliseconds. Reading blocks while the process hangs in a page fault. */
const READ_TIMEOUT_MS = 500;
/**
 * Killing ends after this number of consecutive passes without new members. One pass is not enough, because it may miss
 * a process that is being forked, or that has no environment for a moment because it replaces its program.
 */
const CLEAN_PASSES = 2;
const MAX_PASSES = 100;

/** A process that belongs to a run. */
export interface RunMember extends ProcessEntry {
  /** True if the process belongs to a nested run: an engine that is part of this run has started it. */
  readonly isNested: boolean;
}

export interface RunIdentity {
  readonly id: string;
  /** Start time of the run's first process. Older processes are ignored. Undefined if it is unknown. */
  readonly since: string | undefined;
}

/**
 * Finds the processes of a run: the members of its group, the processes with its marker, and the descendants of all of
 * them. Outside the group, only processes of our user are found. A process without the marker, e.g. one that was
 * started by `env -i`, is found only while its parent lives.
 */
export class RunMembers {
  readonly #identity: RunIdentity;
  /** Run ids of known processes, by pid and start time. Empty for a process that belongs to no run. */
  #known = new Map<string, readonly string[]>();

  constructor(identity: RunIdentity) {
    this.#identity = identity;
  }

  /**
   * Returns the members that have not ended, in no particular order, without this process. `group` is the id of the
   * run's group; it must be omitted if another group may have this id now.
   */
  async find(group?: number): Promise<readonly RunMember[]> {
    const processes = (await listProcesses()).filter(
      (entry) => !entry.zombie && entry.pid !== process.pid && this.#isYoungEnough(entry),
    );
    const idsOf = await this.#readMarkers(processes);
    const { id } = this.#identity;
    const members = new Map<number, RunMember>();
    for (const entry of group === undefined ? [] : membersOf(group, processes))
      members.set(entry.pid, { ...entry, isNested: isNestedIn(id, idsOf(entry)) });
    for (const entry of processes) {
      const ids = idsOf(entry);
      if (!members.has(entry.pid) && ids.includes(id))
        members.set(entry.pid, { ...entry, isNested: isNestedIn(id, ids) });
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
        if (parent !== undefined && !members.has(entry.pid) && isOfOurUser(entry.pid))
          members.set(entry.pid, { ...entry, isNested: parent.isNested });
      }
    } while (members.size > before);
  }

  /**
   * True if the process did not start before the run. Can be checked only on Linux, which has start times in ticks
   * since the boot.
   */
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
      // A process without a marker never gets one. A process with a marker is read again, because it may be a nested
      // engine that replaces its program with a launcher, which has another marker.
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

/**
 * Sends SIGKILL to everything that `find` returns, until several consecutive passes find nothing new. One pass is not
 * enough, because a member may fork meanwhile.
 */
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

/** Sends a signal to exactly this process. Does nothing if the process has ended and another one has its pid now. */
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

/** True if our user may read `/proc/PID/environ`. A process that hides its environment appears to belong to root. */
function isOfOurUser(pid: number): boolean {
  if (!LINUX) return true;
  try {
    return statSync(`/proc/${pid}`).uid === process.geteuid?.();
  } catch {
    return false;
  }
}

/**
 * Returns a process's environment. Returns an empty string if the process has ended, belongs to another user, or has no
 * environment.
 */
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

/** Returns the environments of our user's processes, by pid. macOS does not show those of system programs. */
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
