import { backoffMs } from "@svc-runtime/protocol";
import { UNAVAILABLE_BACKOFF } from "../../deliveries/call-failure.ts";
import type { Clock } from "../../kernel/clock.ts";

/**
 * Maximum functions of a queue that back off at once. At this limit the runner takes only jobs of available functions.
 */
const MAX_ENTRIES = 1_000;

/**
 * Functions for which the runner currently takes no jobs, each with its retry delay. Jobs of these functions stay in
 * the store, and jobs of other functions run.
 */
export class UnavailableFunctions {
  /** For each function that backs off: cancels its timer. The oldest entry is first. */
  readonly #entries = new Map<string, () => void>();
  /** Consecutive backoffs by function. */
  readonly #attempts = new Map<string, number>();
  readonly #clock: Pick<Clock, "after">;
  /** Returns whether the function is available. */
  readonly #isAvailable: (key: string) => boolean;
  readonly #onResumed: () => void;

  constructor(parts: {
    readonly clock: Pick<Clock, "after">;
    readonly isAvailable: (key: string) => boolean;
    readonly onResumed: () => void;
  }) {
    this.#clock = parts.clock;
    this.#isAvailable = parts.isAvailable;
    this.#onResumed = parts.onResumed;
  }

  keys(): string[] {
    return [...this.#entries.keys()];
  }

  /**
   * True at the limit of functions. Other functions may be unavailable without an entry, so only jobs of available
   * functions may be taken.
   */
  get isFull(): boolean {
    return this.#entries.size >= MAX_ENTRIES;
  }

  /** Stops jobs of the function until `resume`, or for a delay that grows each time. */
  start(key: string): void {
    if (this.#entries.has(key) || (this.isFull && !this.#isAvailable(key))) return;
    const attempts = (this.#attempts.get(key) ?? 0) + 1;
    this.#attempts.set(key, attempts);
    this.#schedule(key, attempts);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAX_ENTRIES && oldest !== undefined) this.#evict(oldest);
  }

  /** Ends the function's backoff, because the function is available again or may be. */
  resume(key: string): void {
    const cancel = this.#entries.get(key);
    if (cancel === undefined) return;
    cancel();
    this.#entries.delete(key);
    this.#onResumed();
  }

  /** The function ran a job, so its next backoff starts with the shortest delay. */
  reset(key: string): void {
    this.#attempts.delete(key);
  }

  clear(): void {
    for (const cancel of this.#entries.values()) cancel();
    this.#entries.clear();
    this.#attempts.clear();
  }

  /**
   * Removes the oldest entry. If its function is unavailable, `onResumed` is not called: the runner would take a job of
   * the function, the attempt would fail, and the function's new entry would displace the next oldest one, and so on
   * without end.
   */
  #evict(key: string): void {
    this.#attempts.delete(key);
    if (this.#isAvailable(key)) this.resume(key);
    else {
      this.#entries.get(key)?.();
      this.#entries.delete(key);
    }
  }

  #schedule(key: string, attempts: number): void {
    const cancel = this.#clock.after(backoffMs(UNAVAILABLE_BACKOFF, attempts), () => {
      // Nothing reported that the function is available, so check: a check is cheap, a failed attempt is not.
      if (this.#isAvailable(key)) this.resume(key);
      else this.#schedule(key, attempts + 1);
    });
    this.#entries.set(key, cancel);
  }
}
