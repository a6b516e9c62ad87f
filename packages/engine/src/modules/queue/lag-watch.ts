import { every } from "../../kernel/clock.ts";
import type { ComponentHealth } from "../../kernel/health-contract.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Undo } from "../../kernel/scope.ts";
import { noWorkerReasons, reasonsAmong } from "./no-worker-reasons.ts";
import type { QueueCore } from "./queue-core.ts";

const CHECK_EVERY_MS = 10_000;
/** A queue is late if one of its ready jobs has waited longer than this although a worker can run the job. */
const LATE_MS = 60_000;
/** The reason why no worker can run a job is logged once the job has waited for this long. */
const UNRUNNABLE_MS = 10_000;
/** Maximum queues named in the health details, and maximum reasons per log line. */
const MAX_NAMED = 5;

interface Lag {
  readonly queue: string;
  readonly ms: number;
}

/**
 * Checks periodically how long the oldest ready job of each queue has waited. Warns of jobs that no worker can run,
 * once per reason.
 */
export class LagWatch {
  readonly #core: QueueCore;
  readonly #log: Logger;
  #late: readonly Lag[] = [];
  /**
   * Logged reasons, by queue. Holds only reasons that the last check found, so a reason that returns is logged again.
   */
  #logged: ReadonlyMap<string, readonly string[]> = new Map();
  #isChecking = false;
  #stop: Undo = () => {};

  constructor({ core, log }: { readonly core: QueueCore; readonly log: Logger }) {
    this.#core = core;
    this.#log = log;
  }

  start(): void {
    this.#stop = every(this.#core.clock, CHECK_EVERY_MS, () => {
      if (this.#isChecking) return;
      this.#isChecking = true;
      this.#lateQueues().then(
        (late) => {
          this.#late = late;
          this.#isChecking = false;
        },
        (error: unknown) => {
          // Log at level debug only, because the store logs its own failures. The last result stays until a check
          // works.
          this.#log.debug("the lag of queues cannot be read", { error });
          this.#isChecking = false;
        },
      );
    });
  }

  stop(): void {
    this.#stop();
  }

  health(): ComponentHealth {
    if (this.#late.length === 0) return { status: "healthy", details: "no ready job has waited for more than 60 s" };
    const named = this.#late.slice(0, MAX_NAMED).map(({ queue, ms }) => `${queue} (${Math.round(ms / 1_000)} s)`);
    const more = this.#late.length > MAX_NAMED ? ` and ${this.#late.length - MAX_NAMED} more` : "";
    const which = `queue${this.#late.length > 1 ? "s" : ""} ${named.join(", ")}${more}`;
    return {
      status: "degraded",
      details: `ready jobs have waited for more than 60 s in ${which}, although their workers are connected: raise concurrency, add workers, or make the handlers faster`,
    };
  }

  async #lateQueues(): Promise<readonly Lag[]> {
    const late: Lag[] = [];
    const reasonOf = noWorkerReasons(this.#core, true);
    const logged = new Map<string, readonly string[]>();
    for (const { queue, waiting, paused } of await this.#core.store.call("counts", null)) {
      if (waiting === 0 || paused || this.#core.settingsOf(queue) === undefined) continue;
      const ready = await this.#core.store.call("oldestReady", queue);
      const waited = ready.filter(({ waitedMs }) => waitedMs >= UNRUNNABLE_MS);
      const reasons = reasonsAmong(waited, queue, reasonOf);
      if (reasons.length > 0) logged.set(queue, reasons);
      const waits = ready
        .filter(({ functionId }) => !this.#core.isAway(queue, functionId))
        .map(({ waitedMs }) => waitedMs);
      const ms = Math.max(0, ...waits);
      if (ms > LATE_MS) late.push({ queue, ms });
    }
    this.#warn(logged);
    return late.sort((a, b) => b.ms - a.ms);
  }

  #warn(found: ReadonlyMap<string, readonly string[]>): void {
    for (const [queue, reasons] of found) {
      const before = this.#logged.get(queue) ?? [];
      const added = reasons.filter((reason) => !before.includes(reason));
      if (added.length > 0)
        this.#log.warn("jobs wait because no worker can run them", { queue, reasons: added.slice(0, MAX_NAMED) });
    }
    this.#logged = found;
  }
}
