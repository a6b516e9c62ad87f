import type { Clock } from "@svc-runtime/engine/module";

/**
 * Decides when to report changes together. A report is due a fixed delay after the first change. After a large report,
 * the delay is longer, so that many changes cause few reports.
 */
export class ReportDelay {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #busyDelayMs: number;
  readonly #large: number;
  readonly #full: number;
  #isBusy = false;
  /** Time of the last report, by the monotonic clock. */
  #reportedMs = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(parts: {
    readonly clock: Clock;
    readonly delayMs: number;
    /** Delay after a large report, in milliseconds. */
    readonly busyDelayMs: number;
    /** A report of more changes than this is a large one. */
    readonly large: number;
    /**
     * When this number of changes is waiting, the report is due `delayMs` after the last report, even after a large
     * one.
     */
    readonly full: number;
  }) {
    this.#clock = parts.clock;
    this.#delayMs = parts.delayMs;
    this.#busyDelayMs = parts.busyDelayMs;
    this.#large = parts.large;
    this.#full = parts.full;
  }

  /**
   * Must be called when the number of waiting changes has become `count`. `report` is called once, when the delay is
   * over.
   */
  waiting(count: number, report: () => void): void {
    let delayMs = this.#isBusy ? this.#busyDelayMs : this.#delayMs;
    if (this.#isBusy && count >= this.#full) {
      this.#isBusy = false;
      this.cancel();
      delayMs = Math.max(0, this.#reportedMs + this.#delayMs - this.#clock.monotonic());
    }
    this.#cancel ??= this.#clock.after(delayMs, () => {
      this.#cancel = undefined;
      report();
    });
  }

  /** Must be called after each report, with its number of changes. */
  reported(count: number): void {
    this.#isBusy = count > this.#large;
    this.#reportedMs = this.#clock.monotonic();
  }

  cancel(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
