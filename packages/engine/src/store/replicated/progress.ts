import type { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../../kernel/clock.ts";
import { storeUnavailable } from "./own-requests.ts";

/** Waits for conditions that change with each applied entry. */
export class Progress {
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #failure: () => CallError | undefined;
  readonly #checks = new Set<() => void>();

  /** `failure` returns why the conditions can no longer come true, or undefined. */
  constructor(clock: Clock, stallMs: number, failure: () => CallError | undefined) {
    this.#clock = clock;
    this.#stallMs = stallMs;
    this.#failure = failure;
  }

  /** Must be called after each entry, and after a failure. */
  note(): void {
    for (const check of this.#checks) check();
  }

  /** Resolves with whether the condition held within this time, whatever was applied meanwhile. Rejects after a failure. */
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

  /** Resolves when the condition holds. Rejects after a failure, and if nothing was applied for the stall time. */
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
