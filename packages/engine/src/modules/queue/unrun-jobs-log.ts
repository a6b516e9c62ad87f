import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { RunRefusal } from "./run-refusal.ts";

/** Minimum time between two log lines with the same reason. */
const LOG_EVERY_MS = 60_000;

interface Unlogged {
  readonly refusal: RunRefusal;
  jobs: number;
  readonly cancel: () => void;
}

/**
 * Logs jobs of a queue that were moved to dead letters without running. Logs the first job with a reason at once, and
 * then once per interval the number of further jobs with this reason.
 */
export class UnrunJobsLog {
  readonly #queue: string;
  readonly #clock: Pick<Clock, "after">;
  readonly #log: Logger;
  readonly #byReason = new Map<string, Unlogged>();

  constructor(parts: { readonly queue: string; readonly clock: Pick<Clock, "after">; readonly log: Logger }) {
    this.#queue = parts.queue;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  note(refusal: RunRefusal): void {
    const unlogged = this.#byReason.get(keyOf(refusal));
    if (unlogged === undefined) this.#write(refusal, 1);
    else unlogged.jobs += 1;
  }

  /** Logs the number of jobs since the last line of each reason. */
  flush(): void {
    for (const [key, { refusal, jobs, cancel }] of this.#byReason) {
      cancel();
      this.#byReason.delete(key);
      if (jobs > 0) this.#warn(refusal, jobs);
    }
  }

  #write(refusal: RunRefusal, jobs: number): void {
    this.#warn(refusal, jobs);
    this.#byReason.set(keyOf(refusal), {
      refusal,
      jobs: 0,
      cancel: this.#clock.after(LOG_EVERY_MS, () => this.#intervalEnded(refusal)),
    });
  }

  #intervalEnded(refusal: RunRefusal): void {
    const jobs = this.#byReason.get(keyOf(refusal))?.jobs ?? 0;
    this.#byReason.delete(keyOf(refusal));
    if (jobs > 0) this.#write(refusal, jobs);
  }

  #warn({ reason, fields }: RunRefusal, jobs: number): void {
    this.#log.warn(`jobs moved to dead letters: ${reason}`, { queue: this.#queue, ...fields, jobs });
  }
}

function keyOf({ reason, fields }: RunRefusal): string {
  return JSON.stringify([reason, fields]);
}
