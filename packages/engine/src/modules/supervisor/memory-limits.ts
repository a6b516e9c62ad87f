import type { Limits } from "../../config/types.ts";
import type { Clock } from "../../kernel/clock.ts";
import { readProcess } from "../../local-workers/process-figures.ts";
import { listProcesses, membersOf } from "../../local-workers/process-table.ts";
import type { Unit } from "./unit.ts";
import type { WorkerProcess } from "./worker-process.ts";

const CHECK_EVERY_MS = 1_000;
const MIB = 2 ** 20;

/** Returns which limits are not enforced on this system, as a sentence, or undefined if all are. */
export function unenforced({ memoryBytes, cpu }: Limits): string | undefined {
  const left = [
    ...(memoryBytes !== undefined && process.platform !== "linux"
      ? ["limits.memory is not enforced on this system"]
      : []),
    ...(cpu === undefined ? [] : ["limits.cpu is not enforced: the engine cannot limit a process's use of the CPU"]),
  ];
  return left.length === 0 ? undefined : left.join("; ");
}

export interface MemoryLimitsOptions {
  readonly clock: Clock;
  readonly units: () => Iterable<Unit>;
  readonly onError: (error: unknown) => void;
}

/**
 * Checks each second and ends processes that exceed their memory limit. Memory that several processes share is counted
 * once for each of them.
 */
export class MemoryLimits {
  readonly #options: MemoryLimitsOptions;
  #cancel: (() => void) | undefined;

  constructor(options: MemoryLimitsOptions) {
    this.#options = options;
  }

  /** Starts the checks, if a unit has a limit. */
  begin(): void {
    if (this.#cancel !== undefined || this.#limited().length === 0) return;
    this.#cancel = this.#options.clock.after(CHECK_EVERY_MS, () => {
      this.#check()
        .catch(this.#options.onError)
        .finally(() => {
          // Start no further check if `stop` was called during this one.
          if (this.#cancel === undefined) return;
          this.#cancel = undefined;
          this.begin();
        });
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #limited(): { readonly process: WorkerProcess; readonly limit: number }[] {
    return [...this.#options.units()].flatMap(({ entry, processes }) => {
      const limit = entry.limits.memoryBytes;
      return limit === undefined ? [] : processes.map((process) => ({ process, limit }));
    });
  }

  async #check(): Promise<void> {
    const processes = await listProcesses();
    for (const { process, limit } of this.#limited()) {
      const { groupId } = process;
      if (groupId === undefined) continue;
      const figures = await Promise.all(membersOf(groupId, processes).map(({ pid }) => readProcess(pid)));
      const used = figures.reduce((sum, found) => sum + (found?.rssBytes ?? 0), 0);
      // The process may have been replaced during the check. The new process must not be ended.
      if (used > limit && process.groupId === groupId)
        process.end(`it used ${inMiB(used)} of memory, more than its limit of ${inMiB(limit)},`);
    }
  }
}

function inMiB(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}
