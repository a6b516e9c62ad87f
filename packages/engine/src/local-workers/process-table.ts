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
  /** True when it has ended and only waits to be collected. */
  readonly zombie: boolean;
  /** Together with the pid and the boot it names one process for good. */
  readonly startTime: string;
}

/** Reads `/proc/<pid>/stat`. The command name in it may hold spaces and brackets, so the fields are counted from its end. */
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
  if (state === undefined || parentPid === undefined || groupId === undefined || sessionId === undefined || startTime === undefined) return undefined;
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
  const [, pid, parentPid, groupId, state, startTime] = match as unknown as readonly [string, string, string, string, string, string];
  // `ps` of BSD shows no usable session id; the group is the nearest it has.
  return { pid: Number(pid), parentPid: Number(parentPid), groupId: Number(groupId), sessionId: Number(groupId), zombie: state.startsWith("Z"), startTime };
}

/** The process with this id; undefined when there is none (or it is none of this machine). */
export async function findProcess(pid: number): Promise<ProcessEntry | undefined> {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  try {
    // The kernel answers from memory. A synchronous read takes some 20 µs; five trips through the thread pool take ten times the CPU time.
    if (LINUX) return parseProcStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
    const { stdout } = await run("ps", ["-o", "pid=,ppid=,pgid=,stat=,lstart=", "-p", String(pid)], { timeout: 5_000 });
    return parsePsLine(stdout);
  } catch {
    // No such process: the file is missing, or `ps` ends with 1.
    return undefined;
  }
}

/** Every process of this machine at about this moment. */
export async function listProcesses(): Promise<readonly ProcessEntry[]> {
  if (!LINUX) {
    const { stdout } = await run("ps", ["-A", "-o", "pid=,ppid=,pgid=,stat=,lstart="], { timeout: 5_000, maxBuffer: 16 * 1024 * 1024 });
    return stdout.split("\n").flatMap((line) => parsePsLine(line) ?? []);
  }
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const entries: ProcessEntry[] = [];
  for (const [index, pid] of pids.entries()) {
    const entry = await findProcess(Number(pid));
    if (entry !== undefined) entries.push(entry);
    // A machine with many processes must not hold up the event loop.
    if (index % 64 === 63) await nextTurn();
  }
  return entries;
}

/** The members of a group that its leader opened as a session of its own, also those that moved to another group of that session. */
export function membersOf(groupId: number, processes: readonly ProcessEntry[]): readonly ProcessEntry[] {
  return processes.filter((entry) => !entry.zombie && (entry.groupId === groupId || entry.sessionId === groupId));
}

/** Names this boot of this machine. Elsewhere than on Linux a process's start is a date, which names it well enough alone. */
export async function bootId(): Promise<string> {
  if (!LINUX) return "unknown";
  return (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
}

/** Names one process for good: pids are given again, this is not. */
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

/** Signals one process or, with a negative id, a group. A target that is gone is fine: that is what signals are sent for. */
export function signalIfThere(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // EPERM on a group: BSD says so when only zombies are left in it.
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}
