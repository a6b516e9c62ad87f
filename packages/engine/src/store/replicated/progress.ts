import type { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../../kernel/clock.ts";
import { storeUnavailable } from "./own-requests.ts";

/** Waits for conditions that change with each applied entry. */
export class Progress {
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #failure: () => CallError | undefined;
  readonly #checks = new Set<() => void>();

  /** `failure` returns the reason why no condition can become true any more, or undefined. */
  constructor(clock: Clock, stallMs: number, failure: () => CallError | undefined) {
    this.#clock = clock;
    this.#stallMs = stallMs;
    this.#failure = failure;
  }

  /** Must be called after each applied entry, and after a failure. */
  note(): void {
    for (const check of this.#checks) check();
  }

  /**
   * Resolves with true when the condition holds, or with false after `ms`. Applied entries do not extend the time.
   * Rejects after a failure.
   */
  within(ms: number, condition: () => boolean): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const settle = (end: () => void): void => {
        cancel();
        this.#checks.delete(check);
        end();
      };
      const check = (): void => {
        const failure = this.#failure();
        if (failure !== undefined) settle(() => reject(failure));
        else if (condition()) settle(() => resolve(true));
      };
      const cancel = this.#clock.after(ms, () => settle(() => resolve(false)));
      this.#checks.add(check);
      check();
    });
  }

  /** Resolves when the condition holds. Rejects after a failure, or if no entry was applied for `stallMs`. */
  until(condition: () => boolean): Promise<void> {
    const late = storeUnavailable(`the log of the store did not answer within ${this.#stallMs} ms`, "not_written");
    return new Promise((resolve, reject) => {
      let cancel = (): void => {};
      const settle = (end: () => void): void => {
        cancel();
        this.#checks.delete(check);
        end();
      };
      const check = (): void => {
        cancel();
        const failure = this.#failure();
        if (failure !== undefined) settle(() => reject(failure));
        else if (condition()) settle(resolve);
        else cancel = this.#clock.after(this.#stallMs, () => settle(() => reject(late)));
      };
      this.#checks.add(check);
      check();
    });
  }
}
