import { every } from "../../kernel/clock.ts";
import type { ComponentHealth } from "../../kernel/health-contract.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { QueueCore } from "./queue-core.ts";
import type { ReadyJob } from "./store/job.ts";

const LOOK_MS = 10_000;
/** A job that could run and has waited longer, though somebody is there to run it, says that the queue does not keep up. */
const LATE_MS = 60_000;
/** Queues named in what is told. */
const NAMED = 5;

interface Lag {
  readonly queue: string;
  readonly ms: number;
}

/** Looks from time to time how long the oldest job of each queue has been ready. */
export class LagWatch {
  readonly #core: QueueCore;
  readonly #log: Logger;
  #late: readonly Lag[] = [];
  #looking = false;
  /** When the clock was set last. */
  #setAt = Number.NEGATIVE_INFINITY;
  #stop: Undo = () => {};

  constructor({ core, log }: { readonly core: QueueCore; readonly log: Logger }) {
    this.#core = core;
    this.#log = log;
  }

  start(): void {
    const unlisten = this.#core.onClockJump(() => {
      this.#setAt = this.#core.clock.now();
    });
    const cancel = every(this.#core.clock, LOOK_MS, () => {
      if (this.#looking) return;
      this.#looking = true;
      this.#look().then(
        (late) => {
          this.#late = late;
          this.#looking = false;
        },
        (error: unknown) => {
          // The store says so itself; what was seen last stands until it answers again.
          this.#log.debug("the lag of queues cannot be read at present", { error });
          this.#looking = false;
        },
      );
    });
    this.#stop = () => {
      unlisten();
      cancel();
    };
  }

  stop(): void {
    this.#stop();
  }

  health(): ComponentHealth {
    if (this.#late.length === 0) return { status: "healthy", details: "no job that could run waits for more than 60 s" };
    const named = this.#late.slice(0, NAMED).map(({ queue, ms }) => `${queue} (${Math.round(ms / 1_000)} s)`);
    const more = this.#late.length > NAMED ? ` and ${this.#late.length - NAMED} more` : "";
    const which = `queue${this.#late.length > 1 ? "s" : ""} ${named.join(", ")}${more}`;
    return {
      status: "degraded",
      details: `jobs wait for longer than 60 s in ${which}, although their workers are connected: raise concurrency, add workers, or make the handlers faster`,
    };
  }

  async #look(): Promise<readonly Lag[]> {
    const late: Lag[] = [];
    const now = this.#core.clock.now();
    for (const { queue, waiting, paused } of await this.#core.store.call("counts", null)) {
      if (waiting === 0 || paused || this.#core.settingsOf(queue) === undefined) continue;
      const ready = await this.#core.store.call("oldestReady", queue);
      const waits = ready.filter(({ functionId }) => !this.#core.isAway(queue, functionId)).map((job) => now - this.#readySince(job, now));
      const ms = Math.max(0, ...waits);
      if (ms > LATE_MS) late.push({ queue, ms });
    }
    return late.sort((a, b) => b.ms - a.ms);
  }

  /** Instants from before the clock was set say nothing; such a job counts from then on. */
  #readySince({ dueAt, createdAt }: ReadyJob, now: number): number {
    const since = dueAt <= now ? dueAt : createdAt;
    return since <= now ? Math.max(since, this.#setAt) : this.#setAt;
  }
}
