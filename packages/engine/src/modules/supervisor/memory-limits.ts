import type { Limits } from "../../config/types.ts";
import type { Clock } from "../../kernel/clock.ts";
import { readProcess } from "../../local-workers/process-figures.ts";
import { listProcesses, membersOf } from "../../local-workers/process-table.ts";
import type { Unit } from "./unit.ts";
import type { WorkerProcess } from "./worker-process.ts";

const LOOK_EVERY_MS = 1_000;
const MIB = 2 ** 20;

/** What of the limits cannot be kept on this system, as a sentence; undefined when there is nothing of the kind. */
export function unenforced({ memoryBytes, cpu }: Limits): string | undefined {
  const left = [
    ...(memoryBytes !== undefined && process.platform !== "linux" ? ["limits.memory is not enforced on this system"] : []),
    ...(cpu === undefined ? [] : ["limits.cpu is not enforced: the engine has no way to hold back a process's use of the processor"]),
  ];
  return left.length === 0 ? undefined : left.join("; ");
}

export interface MemoryLimitsOptions {
  readonly clock: Clock;
  readonly units: () => Iterable<Unit>;
  readonly onError: (error: unknown) => void;
}

/** Ends processes that use more memory than their entry allows, each second. What several processes share counts for each of them. */
export class MemoryLimits {
  readonly #options: MemoryLimitsOptions;
  #cancel: (() => void) | undefined;

  constructor(options: MemoryLimitsOptions) {
    this.#options = options;
  }

  /** Looks from now on, when there is anything to look at. */
  begin(): void {
    if (this.#cancel !== undefined || this.#limited().length === 0) return;
    this.#cancel = this.#options.clock.after(LOOK_EVERY_MS, () => {
      this.#look()
        .catch(this.#options.onError)
        .finally(() => {
          // Stopped meanwhile: nothing follows.
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

  async #look(): Promise<void> {
    const processes = await listProcesses();
    for (const { process, limit } of this.#limited()) {
      const { groupId } = process;
      if (groupId === undefined) continue;
      const figures = await Promise.all(membersOf(groupId, processes).map(({ pid }) => readProcess(pid)));
      const used = figures.reduce((sum, found) => sum + (found?.rssBytes ?? 0), 0);
      // It may be another one by now, which is not to answer for the one before.
      if (used > limit && process.groupId === groupId) process.end(`it used ${inMiB(used)} of memory, more than its limit of ${inMiB(limit)},`);
    }
  }
}

function inMiB(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}
