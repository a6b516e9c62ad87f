import { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../../kernel/clock.ts";

/** Interval of checks. They are needed because changes of modules are not reported. */
const CHECK_EVERY_MS = 100;

/** Calls that wait for a condition. The conditions are checked on each `checkAll`, and ten times a second. */
export class WaitList {
  readonly #clock: Clock;
  readonly #checks = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#checks.size;
  }

  checkAll(): void {
    for (const check of [...this.#checks]) check();
  }

  /** Resolves when `isDone` returns true. Rejects with `call_cancelled` when the signal aborts. */
  until(signal: AbortSignal, isDone: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let cancelCheck = (): void => {};
      const finish = (settle: () => void): void => {
        cancelCheck();
        this.#checks.delete(check);
        signal.removeEventListener("abort", onAbort);
        settle();
      };
      const check = (): void => {
        cancelCheck();
        if (isDone()) finish(resolve);
        else cancelCheck = this.#clock.after(CHECK_EVERY_MS, check);
      };
      const onAbort = (): void =>
        finish(() => reject(new CallError("call_cancelled", "the caller cancelled the call")));
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener("abort", onAbort, { once: true });
      this.#checks.add(check);
      check();
    });
  }
}
