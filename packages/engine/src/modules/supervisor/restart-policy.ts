const FIRST_DELAY_MS = 1_000;
/** Of the first restart of a process that was ready: nothing is wrong with how it starts, and whoever calls it waits. */
const FIRST_DELAY_OF_READY_MS = 250;
const LONGEST_DELAY_MS = 60_000;
const JITTER = 0.2;
/** A run this long is a good one: the next exit starts from the first delay again. */
const STABLE_MS = 60_000;
const CRASH_LOOP_EXITS = 5;
const CRASH_LOOP_WINDOW_MS = 60_000;
const CRASH_LOOP_REST_MS = 300_000;

export interface RestartDecision {
  readonly state: "backing_off" | "crash_looping";
  /** Until the next start. */
  readonly delayMs: number;
}

/** When to start a process again that ended unasked. Knows no clock: it is told the time. */
export class RestartPolicy {
  readonly #random: () => number;
  #exitsAtMs: number[] = [];
  #delayMs = FIRST_DELAY_MS;

  /** `random` answers numbers from 0 up to 1. */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** `nowMs` is monotonic. */
  exited(run: { readonly nowMs: number; readonly ranForMs: number; readonly wasReady: boolean }): RestartDecision {
    if (run.ranForMs >= STABLE_MS) this.forget();
    this.#exitsAtMs = [...this.#exitsAtMs.filter((at) => run.nowMs - at < CRASH_LOOP_WINDOW_MS), run.nowMs];
    if (this.#exitsAtMs.length >= CRASH_LOOP_EXITS) {
      this.forget();
      return { state: "crash_looping", delayMs: CRASH_LOOP_REST_MS };
    }
    const jitter = 1 - JITTER + 2 * JITTER * this.#random();
    if (run.wasReady && this.#exitsAtMs.length === 1) return { state: "backing_off", delayMs: Math.round(FIRST_DELAY_OF_READY_MS * jitter) };
    const delayMs = Math.round(this.#delayMs * jitter);
    this.#delayMs = Math.min(this.#delayMs * 2, LONGEST_DELAY_MS);
    return { state: "backing_off", delayMs };
  }

  /** The next exit counts as the first one. */
  forget(): void {
    this.#exitsAtMs = [];
    this.#delayMs = FIRST_DELAY_MS;
  }
}
