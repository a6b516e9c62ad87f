import { MemoryNetwork } from "../../../cluster/testing/memory-link.ts";
import { type ManualClock, manualClock } from "../../../testing/manual-clock.ts";

/** How far the clock moves at once while steps may be due, in milliseconds. */
const STEP_MS = 10;

/** A network in memory whose time and order of steps a test controls. */
export class TestNetwork {
  readonly clock: ManualClock = manualClock();
  readonly #steps: (() => void)[] = [];
  readonly defer = (action: () => void): void => {
    this.#steps.push(action);
  };
  readonly network = new MemoryNetwork(this.clock, this.defer);

  /** Runs what is due now: ends of ticks and arrivals of messages. */
  settle(): void {
    for (let step = this.#steps.shift(); step !== undefined; step = this.#steps.shift()) step();
  }

  /** Runs what is due until `ms` milliseconds from now. */
  advance(ms: number): void {
    this.settle();
    for (let left = ms; left > 0; left -= STEP_MS) {
      this.clock.advance(Math.min(STEP_MS, left));
      this.settle();
    }
  }
}
