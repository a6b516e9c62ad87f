import { readFile } from "node:fs/promises";

/** What the system tells of a process. */
export interface ProcessFigures {
  readonly rssBytes: number;
  /** Processor time since its start, in milliseconds. */
  readonly cpuMs: number;
  /** In ticks since the machine's start; tells apart two processes of one id. */
  readonly startedAt: string;
}

/** Ticks of `/proc/PID/stat` are hundredths of a second on every Linux that Node runs on. */
const TICK_MS = 10;
/** Of `/proc/PID/stat`, counted behind the name in parentheses, which may hold anything. */
const UTIME = 11;
const STIME = 12;
const STARTTIME = 19;

/** Undefined where there is no such process, or no `/proc`. */
export async function readProcess(pid: number): Promise<ProcessFigures | undefined> {
  try {
    const [stat, status] = await Promise.all([readFile(`/proc/${pid}/stat`, "latin1"), readFile(`/proc/${pid}/status`, "latin1")]);
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
