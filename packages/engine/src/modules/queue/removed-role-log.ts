import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";

/** Minimum time between two lines about the same role. */
const LOG_EVERY_MS = 60_000;

interface Unlogged {
  jobs: number;
  readonly cancel: () => void;
}

/** Logs jobs of one queue that were moved to dead letters because their role was removed: the first of a role at once, then their count per interval. */
export class RemovedRoleLog {
  readonly #queue: string;
  readonly #clock: Pick<Clock, "after">;
  readonly #log: Logger;
  readonly #byRole = new Map<string, Unlogged>();

  constructor(parts: { readonly queue: string; readonly clock: Pick<Clock, "after">; readonly log: Logger }) {
    this.#queue = parts.queue;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  note(role: string): void {
    const unlogged = this.#byRole.get(role);
    if (unlogged === undefined) this.#write(role, 1);
    else unlogged.jobs += 1;
  }

  /** Logs what was counted since the last line of each role. */
  flush(): void {
    for (const [role, { jobs, cancel }] of this.#byRole) {
      cancel();
      this.#byRole.delete(role);
      if (jobs > 0) this.#warn(role, jobs);
    }
  }

  #write(role: string, jobs: number): void {
    this.#warn(role, jobs);
    this.#byRole.set(role, { jobs: 0, cancel: this.#clock.after(LOG_EVERY_MS, () => this.#intervalEnded(role)) });
  }

  #intervalEnded(role: string): void {
    const jobs = this.#byRole.get(role)?.jobs ?? 0;
    this.#byRole.delete(role);
    if (jobs > 0) this.#write(role, jobs);
  }

  #warn(role: string, jobs: number): void {
    this.#log.warn("jobs moved to dead letters: their role was removed", { queue: this.#queue, role, jobs });
  }
}
