import type { Clock } from "../../../kernel/clock.ts";
import { STEP_MS, type TimeLine } from "./time-line.ts";

const EARLY_MS = 500;

/** Calls `sample` at the end of every 5 s, by the wall clock, with a time within them. */
export class Sampler {
  readonly #clock: Clock;
  readonly #timeLine: TimeLine;
  readonly #sample: (at: number) => void;
  #cancel = (): void => {};

  constructor(parts: { readonly clock: Clock; readonly timeLine: TimeLine; readonly sample: (at: number) => void }) {
    this.#clock = parts.clock;
    this.#timeLine = parts.timeLine;
    this.#sample = parts.sample;
  }

  start(): void {
    const wait = STEP_MS - (this.#timeLine.now() % STEP_MS);
    // A timer may be a hair early: the same 5 s are not to be sampled twice.
    this.#cancel = this.#clock.after(wait < EARLY_MS ? wait + STEP_MS : wait, () => {
      const end = Math.round(this.#timeLine.now() / STEP_MS) * STEP_MS;
      this.#sample(end - STEP_MS);
      this.start();
    });
  }

  stop(): void {
    this.#cancel();
  }
}
