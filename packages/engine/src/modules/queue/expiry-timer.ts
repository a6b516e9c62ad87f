import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { QueueStore } from "./store/queue-store.ts";

const LONGEST_TIMER_MS = 3_600_000;
const RETRY_MS = 5_000;

/** Deletes jobs when their time to live ends, even while no worker can run them. */
export class ExpiryTimer {
  readonly #store: QueueStore;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Monotonic time of the next sweep. */
  #next = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => {};
  #sweeping = false;
  #stopped = false;

  constructor(parts: {
    readonly store: QueueStore;
    readonly clock: Clock;
    readonly log: Logger;
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  start(): Promise<void> {
    return this.#sweep();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  /** Notes that a job expires `ms` milliseconds after the monotonic time `since`, by default now. */
  note(ms: number, since = this.#clock.monotonic()): void {
    const at = since + ms;
    if (at >= this.#next || this.#stopped) return;
    this.#cancel();
    this.#next = at;
    const remainingMs = Math.max(1, at - this.#clock.monotonic());
    this.#cancel = this.#clock.after(Math.min(LONGEST_TIMER_MS, remainingMs), () => void this.#sweep());
  }

  async #sweep(): Promise<void> {
    if (this.#sweeping || this.#stopped) return;
    this.#sweeping = true;
    this.#cancel();
    this.#next = Number.POSITIVE_INFINITY;
    const requestedAt = this.#clock.monotonic();
    try {
      const { expired, nextMs } = await this.#store.call("expire", null);
      if (expired > 0) this.#log.info("expired jobs deleted", { jobs: expired });
      if (nextMs !== undefined) this.note(nextMs, requestedAt);
    } catch (error) {
      this.#log.warn("expired jobs cannot be deleted", { error });
      this.note(RETRY_MS);
    } finally {
      this.#sweeping = false;
    }
  }
}
