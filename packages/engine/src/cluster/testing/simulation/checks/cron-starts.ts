import type { AppliedRequest, LogObserver } from "../observed-log.ts";
import type { Violations } from "../violations.ts";
import { type CronCall, TICK_MS } from "../workload/cron-workload.ts";

const STORE = "cron.db";
const STARTS = "one start per cron instant";

interface StoredRun {
  readonly seq: number;
  readonly scheduledAt: number;
}

/** Starts of cron ticks in the log. */
export class CronStarts implements LogObserver {
  readonly #violations: Violations;
  /** Instants by job that were started and not undone, with the number of the run. */
  readonly #started = new Map<string, Map<number, number>>();
  readonly #functionOf = new Map<string, string>();

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  onRequest({ store, procedure, input, output, isDone }: AppliedRequest): void {
    if (store !== STORE || !isDone) return;
    const { status, run } = (output ?? {}) as { readonly status?: string; readonly run?: StoredRun };
    if (procedure === "start" && status === "started" && run !== undefined) {
      const { id } = (input as { readonly entry: { readonly id: string } }).entry;
      const instants = this.#of(id);
      if (instants.has(run.scheduledAt))
        this.#violations.add(STARTS, `${id} started twice at ${new Date(run.scheduledAt).toISOString()}`);
      instants.set(run.scheduledAt, run.seq);
    }
    if (procedure === "undoStart" && output === true) {
      const { id, scheduledAt } = input as { readonly id: string; readonly scheduledAt: number };
      this.#of(id).delete(scheduledAt);
    }
    if (procedure === "register") {
      const { changes } = input as {
        readonly changes: readonly { readonly id: string; readonly functionId?: string }[];
      };
      for (const { id, functionId } of changes) if (functionId !== undefined) this.#functionOf.set(functionId, id);
    }
  }

  /** Checks the calls, and that the trigger that skips nothing started each instant of the time span. */
  finish(calls: readonly CronCall[], { complete, from, to }: { complete: string; from: number; to: number }): void {
    const seen = new Map<string, string>();
    for (const { functionId, instant, node } of calls) {
      const tick = `${functionId} ${instant}`;
      if (seen.has(tick)) this.#violations.add(STARTS, `${tick} ran at ${seen.get(tick)} and ${node}`);
      seen.set(tick, node);
    }
    const started = this.#of(this.#functionOf.get(complete) ?? "");
    for (let instant = Math.ceil(from / TICK_MS) * TICK_MS; instant <= to; instant += TICK_MS)
      if (!started.has(instant))
        this.#violations.add(
          "no cron instant is left out",
          `${complete} did not start at ${new Date(instant).toISOString()}`,
        );
  }

  #of(id: string): Map<number, number> {
    let instants = this.#started.get(id);
    if (instants === undefined) {
      instants = new Map();
      this.#started.set(id, instants);
    }
    return instants;
  }
}
