import { readdirSync, readFileSync } from "node:fs";

const CLOCK_TICK_US = 10_000;
const PAGE_BYTES = 4096;

/**
 * Returns the CPU time of a process so far, of all threads, user and system together, in microseconds. Uses the
 * scheduler's nanosecond count if the operating system has one and no thread has ended. Otherwise uses utime + stime,
 * in steps of 10 ms. Linux only.
 */
export function cpuTimeUs(pid: number): number {
  // The scheduler's count does not include threads that have ended, so the larger value is the right one.
  return Math.max(scheduledUs(pid) ?? 0, utimeAndStimeUs(pid));
}

function scheduledUs(pid: number): number | undefined {
  let totalNs = 0;
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      totalNs += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ", 1)[0]);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  return totalNs > 0 ? totalNs / 1000 : undefined;
}

function utimeAndStimeUs(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_US;
}

/**
 * Returns the CPU time of a process's ended children that were waited for, and of their children, in microseconds, in
 * steps of 10 ms. Linux only.
 */
export function endedChildrenCpuUs(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[13]) + Number(fields[14])) * CLOCK_TICK_US;
}

/** Returns the fields of `/proc/PID/stat` from the third on. */
function statFields(pid: number): readonly string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The second field is the program's name in brackets. It may contain spaces, so the fields are counted after its end.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Returns the resident memory of a process, in bytes. Linux only. */
export function residentBytes(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * PAGE_BYTES;
}

/** Returns the maximum number of open files of this process. A scenario with many sockets stays below it. */
export function openFileLimit(): number {
  const line = readFileSync("/proc/self/limits", "latin1").match(/^Max open files\s+(\d+)/m);
  return line === null ? 1024 : Number(line[1]);
}
