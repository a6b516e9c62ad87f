import { readdirSync, readFileSync } from "node:fs";

const CLOCK_TICK_US = 10_000;
const PAGE_BYTES = 4096;

/**
 * CPU time a process has used so far, on all its threads, user and system together, in microseconds. Reads the scheduler's
 * nanosecond count where the kernel has one and all threads are there; otherwise utime + stime, which step by 10 ms. Linux only.
 */
export function cpuTimeUs(pid: number): number {
  // The scheduler's count lacks threads that have ended.
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

/** CPU time of those of a process's children that have ended and were waited for, and of theirs, in microseconds; in steps of 10 ms. Linux only. */
export function endedChildrenCpuUs(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[13]) + Number(fields[14])) * CLOCK_TICK_US;
}

/** From the third field of `/proc/PID/stat` on. */
function statFields(pid: number): readonly string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The second field is the program's name in brackets and may hold spaces; count from behind it.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Resident memory of a process, in bytes. Linux only. */
export function residentBytes(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * PAGE_BYTES;
}

/** Largest number of files this process may open, so that a scenario with many sockets can stay below it. */
export function openFileLimit(): number {
  const line = readFileSync("/proc/self/limits", "latin1").match(/^Max open files\s+(\d+)/m);
  return line === null ? 1024 : Number(line[1]);
}
