import { uptime } from "node:os";
import { readProcess } from "../../local-workers/process-figures.ts";

/** Minimum time between two samples, in milliseconds. A shorter time gives inaccurate values. */
const MIN_INTERVAL_MS = 500;
const TICK_MS = 10;

export interface Usage {
  /** Null if the operating system does not report it, or no process runs. */
  readonly memoryBytes: number | null;
  /** Percent of one core, since the previous sample or since the processes started. */
  readonly cpuPercent: number | null;
}

interface Sample {
  readonly atMs: number;
  readonly cpuMs: ReadonlyMap<string, number>;
  readonly cpuPercent: number;
}

/** Measures memory and CPU use of each unit's processes on request. */
export class UsageMeter {
  readonly #samples = new Map<string, Sample>();

  async measure(name: string, pids: readonly number[]): Promise<Usage> {
    const figures = await Promise.all(pids.map(async (pid) => ({ pid, found: await readProcess(pid) })));
    const there = figures.flatMap(({ pid, found }) =>
      found === undefined ? [] : [{ key: `${pid} ${found.startedAt}`, ...found }],
    );
    if (there.length === 0) {
      this.#samples.delete(name);
      return { memoryBytes: null, cpuPercent: null };
    }
    const memoryBytes = there.reduce((sum, { rssBytes }) => sum + rssBytes, 0);
    const atMs = performance.now();
    const before = this.#samples.get(name);
    if (before !== undefined && atMs - before.atMs < MIN_INTERVAL_MS)
      return { memoryBytes, cpuPercent: before.cpuPercent };
    const share =
      before === undefined
        ? there.reduce(
            (sum, { cpuMs, startedAt }) =>
              sum + cpuMs / Math.max(MIN_INTERVAL_MS, uptime() * 1000 - Number(startedAt) * TICK_MS),
            0,
          )
        : there.reduce((sum, { key, cpuMs }) => sum + cpuMs - (before.cpuMs.get(key) ?? 0), 0) / (atMs - before.atMs);
    const cpuPercent = Math.round(share * 1000) / 10;
    this.#samples.set(name, { atMs, cpuPercent, cpuMs: new Map(there.map(({ key, cpuMs }) => [key, cpuMs])) });
    return { memoryBytes, cpuPercent };
  }

  forget(name: string): void {
    this.#samples.delete(name);
  }
}
