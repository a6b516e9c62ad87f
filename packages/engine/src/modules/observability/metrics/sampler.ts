import type { Clock } from "../../../kernel/clock.ts";
import { STEP_MS, type TimeLine } from "./time-line.ts";

const EARLY_MS = 500;

/** Calls `sample` at the end of every 5 s, by the wall clock, with a time within them. */
export class Sampler {
  readonly #clock: Clock;
  readonly #timeLine: TimeLine;
  readonly #sample: (at: number) => void;
  #cancel = (): void => {};
  /** Begin of the 5 s that are sampled next. */
  #next = 0;

  constructor(parts: { readonly clock: Clock; readonly timeLine: TimeLine; readonly sample: (at: number) => void }) {
    this.#clock = parts.clock;
    this.#timeLine = parts.timeLine;
    this.#sample = parts.sample;
  }

  start(): void {
    const now = this.#timeLine.now();
    const toEnd = STEP_MS - (now % STEP_MS);
    // A timer may be a hair early: the same 5 s are not to be sampled twice.
    const wait = toEnd < EARLY_MS ? toEnd + STEP_MS : toEnd;
    this.#next = now + wait - STEP_MS;
    this.#cancel = this.#clock.after(wait, () => {
      const end = Math.round(this.#timeLine.now() / STEP_MS) * STEP_MS;
      this.#sample(end - STEP_MS);
      this.start();
    });
  }

  /** A time within the 5 s that what happened since the last sample belongs to, though they are not over; or just are, and their sample is due. */
  running(): number {
    const now = this.#timeLine.now();
    // After the machine slept that stretch is long gone.
    return now < this.#next || now - this.#next > 2 * STEP_MS ? now : this.#next;
  }

  stop(): void {
    this.#cancel();
  }
}
