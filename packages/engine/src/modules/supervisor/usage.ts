import { uptime } from "node:os";
import { readProcess } from "../../local-workers/process-figures.ts";

/** Two looks that are closer than this say little about the time between them, in milliseconds. */
const SHORTEST_SPAN_MS = 500;
const TICK_MS = 10;

export interface Usage {
  /** Null where the system does not tell, or nothing runs. */
  readonly memoryBytes: number | null;
  /** Of one core; since the look before, or since the processes started. */
  readonly cpuPercent: number | null;
}

interface Look {
  readonly atMs: number;
  readonly cpuMs: ReadonlyMap<string, number>;
  readonly cpuPercent: number;
}

/** What the processes of each unit use, whenever somebody asks. */
export class UsageMeter {
  readonly #looks = new Map<string, Look>();

  async measure(name: string, pids: readonly number[]): Promise<Usage> {
    const figures = await Promise.all(pids.map(async (pid) => ({ pid, found: await readProcess(pid) })));
    const there = figures.flatMap(({ pid, found }) => (found === undefined ? [] : [{ key: `${pid} ${found.startedAt}`, ...found }]));
    if (there.length === 0) {
      this.#looks.delete(name);
      return { memoryBytes: null, cpuPercent: null };
    }
    const memoryBytes = there.reduce((sum, { rssBytes }) => sum + rssBytes, 0);
    const atMs = performance.now();
    const before = this.#looks.get(name);
    if (before !== undefined && atMs - before.atMs < SHORTEST_SPAN_MS) return { memoryBytes, cpuPercent: before.cpuPercent };
    const share =
      before === undefined
        ? there.reduce((sum, { cpuMs, startedAt }) => sum + cpuMs / Math.max(SHORTEST_SPAN_MS, uptime() * 1000 - Number(startedAt) * TICK_MS), 0)
        : there.reduce((sum, { key, cpuMs }) => sum + cpuMs - (before.cpuMs.get(key) ?? 0), 0) / (atMs - before.atMs);
    const cpuPercent = Math.round(share * 1000) / 10;
    this.#looks.set(name, { atMs, cpuPercent, cpuMs: new Map(there.map(({ key, cpuMs }) => [key, cpuMs])) });
    return { memoryBytes, cpuPercent };
  }

  forget(name: string): void {
    this.#looks.delete(name);
  }
}
