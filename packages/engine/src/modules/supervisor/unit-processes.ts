import { type ReplaceOptions, type ReplaceResult, Replica, type ReplicaOptions } from "./replica.ts";
import type { RunPlan } from "./unit-preparation.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** The processes of one unit, one replica per `replicas` of its entry. */
export class UnitProcesses {
  readonly #replicas: readonly Replica[];

  constructor(options: ReplicaOptions) {
    this.#replicas = Array.from({ length: options.entry.replicas }, (_, index) => new Replica(index, options));
  }

  /** The current process of each replica, which determines the state of the unit. */
  get current(): readonly WorkerProcess[] {
    return this.#replicas.map(({ current }) => current);
  }

  /**
   * All processes with the index of their replica, including new ones that are not ready and previous ones that are
   * being stopped.
   */
  get all(): readonly { readonly index: number; readonly process: WorkerProcess }[] {
    return this.#replicas.flatMap(({ processes }, index) => processes.map((process) => ({ index, process })));
  }

  get hasRunning(): boolean {
    return this.current.some((process) => process.groupId !== undefined);
  }

  /** True if a process is ready. It can serve calls while a new process starts. */
  get hasReady(): boolean {
    return this.current.some(isReady);
  }

  /** Progress of the replacement, as a sentence. */
  get progress(): string | undefined {
    return this.#replicas.flatMap(({ progress }) => progress ?? [])[0];
  }

  /** Starts all processes, which must be stopped. */
  start(plan: RunPlan): void {
    for (const replica of this.#replicas) replica.start(plan);
  }

  async stop(options: { readonly graceMs: number }): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.stop(options)));
  }

  kill(): void {
    for (const replica of this.#replicas) replica.kill();
  }

  /** True if a process runs that was not started from this plan. */
  runsOtherThan(plan: RunPlan): boolean {
    return this.#replicas.some((replica) => replica.plan !== plan && replica.current.groupId !== undefined);
  }

  /**
   * Replaces the ready processes one after another. Stops if a new process does not become ready. Processes that are
   * not ready serve no calls, so they are not replaced but stopped and started. This comes last, when the replaced
   * processes have shown that the change works.
   */
  async replace(plan: RunPlan, options: ReplaceOptions): Promise<ReplaceResult> {
    const { signal } = options;
    for (const replica of this.#replicas) {
      if (!isReady(replica.current)) continue;
      const result = signal.aborted ? ({ outcome: "cancelled" } as const) : await replica.replace(plan, options);
      if (result.outcome === "failed") return { ...result, problem: result.problem + this.#partlyReplaced(plan) };
      if (result.outcome === "cancelled") return result;
    }
    for (const replica of this.#replicas.filter((other) => other.plan !== plan)) {
      if (!signal.aborted) await replica.stop(options);
      if (signal.aborted) return { outcome: "cancelled" };
      replica.start(plan);
    }
    return { outcome: "replaced" };
  }

  #partlyReplaced(plan: RunPlan): string {
    const replaced = this.#replicas.filter((replica) => replica.plan === plan).length;
    return replaced === 0 ? "" : `; ${replaced} of ${this.#replicas.length} processes were already replaced`;
  }
}

function isReady(process: WorkerProcess): boolean {
  return process.status.state === "ready";
}
