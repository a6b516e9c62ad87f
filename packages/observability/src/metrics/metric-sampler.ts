import type { Clock } from "@svc-runtime/engine/module";
import { STEP_MS, type TimeLine } from "./time-line.ts";

const EARLY_MS = 500;

/** Calls `sample` at the end of each 5 s period by the wall clock, with a time within that period. */
export class MetricSampler {
  readonly #clock: Clock;
  readonly #timeLine: TimeLine;
  readonly #sample: (at: number) => void;
  #cancel = (): void => {};
  /** Start of the period that is sampled next. */
  #next = 0;

  constructor(parts: { readonly clock: Clock; readonly timeLine: TimeLine; readonly sample: (at: number) => void }) {
    this.#clock = parts.clock;
    this.#timeLine = parts.timeLine;
    this.#sample = parts.sample;
  }

  start(): void {
    const now = this.#timeLine.now();
    const toEnd = STEP_MS - (now % STEP_MS);
    // A timer may fire slightly before the end of a period. The same period must not be sampled twice.
    const wait = toEnd < EARLY_MS ? toEnd + STEP_MS : toEnd;
    this.#next = now + wait - STEP_MS;
    this.#cancel = this.#clock.after(wait, () => {
      const end = Math.round(this.#timeLine.now() / STEP_MS) * STEP_MS;
      this.#sample(end - STEP_MS);
      this.start();
    });
  }

  /**
   * Returns a time within the current period. If the previous period has ended but was not sampled yet, returns a time
   * within that one.
   */
  running(): number {
    const now = this.#timeLine.now();
    // After a suspend, the previous period ended long ago and is not sampled.
    return now < this.#next || now - this.#next > 2 * STEP_MS ? now : this.#next;
  }

  stop(): void {
    this.#cancel();
  }
}
