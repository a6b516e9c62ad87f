import type { Clock } from "@svc-runtime/engine/module";

/**
 * Decides when changes are reported together: a fixed delay after the first one. After a large report the delay is
 * longer, so that many changes cost few reports.
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
    /** Delay after a large report. */
    readonly busyDelayMs: number;
    /** A report of more changes is a large one. */
    readonly large: number;
    /** With this number of changes, the report is due `delayMs` after the last one. */
    readonly full: number;
  }) {
    this.#clock = parts.clock;
    this.#delayMs = parts.delayMs;
    this.#busyDelayMs = parts.busyDelayMs;
    this.#large = parts.large;
    this.#full = parts.full;
  }

  /** Call when the number of changes that wait has become `count`. `report` is called once, when the delay is over. */
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

  /** Call with the number of changes of each report. */
  reported(count: number): void {
    this.#isBusy = count > this.#large;
    this.#reportedMs = this.#clock.monotonic();
  }

  cancel(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
