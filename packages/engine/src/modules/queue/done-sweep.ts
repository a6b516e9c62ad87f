import { type Clock, every } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import { inBatches } from "./in-batches.ts";
import type { QueueStore } from "./store/queue-store.ts";

const EVERY_MS = 60_000;

/** Deletes done jobs when their time to be kept has ended. Calls the store only while the store may have done jobs. */
export class DoneSweep {
  readonly #store: QueueStore;
  readonly #clock: Clock;
  readonly #log: Logger;
  #mayHaveDone = true;
  #stop: () => void = () => {};

  constructor(parts: { readonly store: QueueStore; readonly clock: Clock; readonly log: Logger }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  start(): void {
    this.#stop = every(this.#clock, EVERY_MS, () => void this.#sweep());
  }

  stop(): void {
    this.#stop();
  }

  /** Call when a job is done. */
  noteDone(): void {
    this.#mayHaveDone = true;
  }

  async #sweep(): Promise<void> {
    if (!this.#mayHaveDone) return;
    this.#mayHaveDone = false;
    try {
      await inBatches((limit) => this.#store.call("dropDone", { limit }));
      const counts = await this.#store.call("counts", null);
      if (counts.some(({ kept }) => kept > 0)) this.#mayHaveDone = true;
    } catch (error) {
      // Log at level debug only, because the store logs its own failures. The next sweep tries again.
      this.#mayHaveDone = true;
      this.#log.debug("done jobs cannot be deleted", { error });
    }
  }
}
