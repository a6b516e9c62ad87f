import type { Clock } from "../../../kernel/clock.ts";

/** Minimum time between two reports of a binding, in milliseconds. */
const REPORT_EVERY_MS = 5_000;

/** Reports failed deliveries of a binding in listings, until one succeeds. */
export class DeliveryFailureReport {
  readonly #clock: Clock;
  readonly #show: (problem: string | undefined) => void;
  #failures = 0;
  #shownAt: number | undefined;

  constructor(clock: Clock, show: (problem: string | undefined) => void) {
    this.#clock = clock;
    this.#show = show;
  }

  failed(last: string): void {
    this.#failures += 1;
    const now = this.#clock.monotonic();
    if (this.#shownAt !== undefined && now - this.#shownAt < REPORT_EVERY_MS) return;
    this.#shownAt = now;
    this.#show(`${this.#failures} ${this.#failures === 1 ? "delivery" : "deliveries"} failed, last: ${last}`);
  }

  succeeded(): void {
    if (this.#shownAt === undefined) return;
    this.#shownAt = undefined;
    this.#show(undefined);
  }
}
