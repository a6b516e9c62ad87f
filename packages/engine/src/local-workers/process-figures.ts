import { readFile } from "node:fs/promises";

/** Resource use of a process. */
export interface ProcessFigures {
  readonly rssBytes: number;
  /** CPU time since its start, in milliseconds. */
  readonly cpuMs: number;
  /** Start time in ticks since the boot. It distinguishes processes with the same pid. */
  readonly startedAt: string;
}

/** A tick of `/proc/PID/stat` is a hundredth of a second on every Linux that Node supports. */
const TICK_MS = 10;
/**
 * Indexes of the fields of `/proc/PID/stat`. They are counted after the name in parentheses, because the name may
 * contain any characters.
 */
const UTIME = 11;
const STIME = 12;
const STARTTIME = 19;

/** Returns undefined if there is no such process, or if the system has no `/proc`. */
export async function readProcess(pid: number): Promise<ProcessFigures | undefined> {
  try {
    const [stat, status] = await Promise.all([
      readFile(`/proc/${pid}/stat`, "latin1"),
      readFile(`/proc/${pid}/status`, "latin1"),
    ]);
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const rss = /^VmRSS:\s+(\d+) kB/m.exec(status);
    const cpuMs = (Number(fields[UTIME]) + Number(fields[STIME])) * TICK_MS;
    const startedAt = fields[STARTTIME];
    if (rss === null || startedAt === undefined || !Number.isFinite(cpuMs)) return undefined;
    return { rssBytes: Number(rss[1]) * 1_024, cpuMs, startedAt };
  } catch {
    return undefined;
  }
}
