import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const LINUX = process.platform === "linux";

/** One process of this machine. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  readonly sessionId: number;
  /** True if the process has ended and its parent has not collected it yet. */
  readonly zombie: boolean;
  /** Start time. Together with the pid and the boot id it identifies the process. */
  readonly startTime: string;
}

/** Parses `/proc/<pid>/stat`. The command name may contain spaces and parentheses, so fields are counted after it. */
export function parseProcStat(text: string): ProcessEntry | undefined {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  if (open < 0 || close < open) return undefined;
  const fields = text
    .slice(close + 2)
    .trim()
    .split(" ");
  const [state, parentPid, groupId, sessionId] = fields;
  const startTime = fields[19];
  if (
    state === undefined ||
    parentPid === undefined ||
    groupId === undefined ||
    sessionId === undefined ||
    startTime === undefined
  )
    return undefined;
  return {
    pid: Number.parseInt(text.slice(0, open), 10),
    parentPid: Number.parseInt(parentPid, 10),
    groupId: Number.parseInt(groupId, 10),
    sessionId: Number.parseInt(sessionId, 10),
    zombie: state === "Z" || state === "X",
    startTime,
  };
}

function parsePsLine(line: string): ProcessEntry | undefined {
  const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line);
  if (match === null) return undefined;
  const [, pid, parentPid, groupId, state, startTime] = match as unknown as readonly [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  // BSD's `ps` shows no usable session id. The group id is the closest value.
  return {
    pid: Number(pid),
    parentPid: Number(parentPid),
    groupId: Number(groupId),
    sessionId: Number(groupId),
    zombie: state.startsWith("Z"),
    startTime,
  };
}

/** Returns the process with this pid, or undefined if there is none on this machine. */
export async function findProcess(pid: number): Promise<ProcessEntry | undefined> {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  try {
    // Read synchronously, because this takes only about 20 µs: the operating system has the content in memory. An
    // asynchronous read uses ten times as much CPU time.
    if (LINUX) return parseProcStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
    const { stdout } = await run("ps", ["-o", "pid=,ppid=,pgid=,stat=,lstart=", "-p", String(pid)], { timeout: 5_000 });
    return parsePsLine(stdout);
  } catch {
    // There is no such process: the file is missing, or `ps` ends with 1.
    return undefined;
  }
}

/** Returns all processes of this machine. */
export async function listProcesses(): Promise<readonly ProcessEntry[]> {
  if (!LINUX) {
    const { stdout } = await run("ps", ["-A", "-o", "pid=,ppid=,pgid=,stat=,lstart="], {
      timeout: 5_000,
      maxBuffer: 16 * 1024 * 1024,
    });
    return stdout.split("\n").flatMap((line) => parsePsLine(line) ?? []);
  }
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const entries: ProcessEntry[] = [];
  for (const [index, pid] of pids.entries()) {
    const entry = await findProcess(Number(pid));
    if (entry !== undefined) entries.push(entry);
    // A long process list must not block the event loop.
    if (index % 64 === 63) await nextTurn();
  }
  return entries;
}

/**
 * Returns the members of a group whose leader opened a session, including those that moved to another group of the
 * session.
 */
export function membersOf(groupId: number, processes: readonly ProcessEntry[]): readonly ProcessEntry[] {
  return processes.filter((entry) => !entry.zombie && (entry.groupId === groupId || entry.sessionId === groupId));
}

/**
 * Returns the id of this boot. It is needed on Linux only: on other systems the start time of a process is a date,
 * which is unique enough.
 */
export async function bootId(): Promise<string> {
  if (!LINUX) return "unknown";
  return (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
}

/** Identifies one process forever. A pid alone does not, because pids are reused. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly start_time: string;
  readonly boot_id: string;
}

export async function identityOf(pid: number): Promise<ProcessIdentity | undefined> {
  const entry = await findProcess(pid);
  if (entry === undefined || entry.zombie) return undefined;
  return { pid, start_time: entry.startTime, boot_id: await bootId() };
}

/** Signals one process or, with a negative id, a group. Does nothing if the target has ended. */
export function signalIfThere(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // BSD returns EPERM for a group in which only zombies are left.
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}
