import { type BackoffOptions, backoffMs } from "@svc-runtime/protocol";

const BACKOFF: BackoffOptions = { firstMs: 1_000, maxMs: 60_000, jitter: 0.2 };
/**
 * Backoff for the first restart of a process that was ready. It is short, because the process can start, and callers
 * wait.
 */
const READY_BACKOFF: BackoffOptions = { ...BACKOFF, firstMs: 250 };
/** A process that ran for this time is stable, in milliseconds. Its next exit then counts as its first one. */
const STABLE_MS = 60_000;
const CRASH_LOOP_EXITS = 5;
const CRASH_LOOP_WINDOW_MS = 60_000;
const CRASH_LOOP_DELAY_MS = 300_000;

export interface RestartDecision {
  readonly state: "backing_off" | "crash_looping";
  /** Delay until the next start, in milliseconds. */
  readonly delayMs: number;
}

/** Decides when a crashed process restarts. Has no clock: callers pass the time. */
export class RestartPolicy {
  readonly #random: () => number;
  #exitsAtMs: number[] = [];
  /** Number of exits since the last stable run. If the process was ready, its first exit is not counted. */
  #failures = 0;

  /** `random` returns numbers from 0 up to 1. */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Records an exit and returns when to restart. `nowMs` is monotonic. */
  exited(run: { readonly nowMs: number; readonly ranForMs: number; readonly wasReady: boolean }): RestartDecision {
    if (run.ranForMs >= STABLE_MS) this.forget();
    this.#exitsAtMs = [...this.#exitsAtMs.filter((at) => run.nowMs - at < CRASH_LOOP_WINDOW_MS), run.nowMs];
    if (this.#exitsAtMs.length >= CRASH_LOOP_EXITS) {
      this.forget();
      return { state: "crash_looping", delayMs: CRASH_LOOP_DELAY_MS };
    }
    if (run.wasReady && this.#exitsAtMs.length === 1)
      return { state: "backing_off", delayMs: backoffMs(READY_BACKOFF, 1, this.#random) };
    this.#failures += 1;
    return { state: "backing_off", delayMs: backoffMs(BACKOFF, this.#failures, this.#random) };
  }

  /** The next exit counts as the first one. */
  forget(): void {
    this.#exitsAtMs = [];
    this.#failures = 0;
  }
}
