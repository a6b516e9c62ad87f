import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { QueueStore } from "./store/queue-store.ts";

const LONGEST_TIMER_MS = 3_600_000;
const RETRY_MS = 5_000;

/** Deletes expired jobs when their time to live ends, even if no worker would take them. */
export class ExpiryTimer {
  readonly #store: QueueStore;
  readonly #clock: Clock;
  readonly #log: Logger;
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

  /** Notes that a new job expires at `at` (milliseconds since 1970). */
  note(at: number): void {
    if (at < this.#next) this.#arm(at);
  }

  clockJumped(): void {
    void this.#sweep();
  }

  #arm(at: number): void {
    if (this.#stopped) return;
    this.#cancel();
    this.#next = at;
    this.#cancel = this.#clock.after(
      Math.min(LONGEST_TIMER_MS, Math.max(1, at - this.#clock.now())),
      () => void this.#sweep(),
    );
  }

  async #sweep(): Promise<void> {
    if (this.#sweeping || this.#stopped) return;
    this.#sweeping = true;
    this.#cancel();
    this.#next = Number.POSITIVE_INFINITY;
    try {
      const { expired, next } = await this.#store.call("expire", { now: this.#clock.now() });
      if (expired > 0) this.#log.info("expired jobs deleted", { jobs: expired });
      if (next !== undefined) this.note(next);
    } catch (error) {
      this.#log.warn("expired jobs cannot be deleted", { error });
      this.note(this.#clock.now() + RETRY_MS);
    } finally {
      this.#sweeping = false;
    }
  }
}
