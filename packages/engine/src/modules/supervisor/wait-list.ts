import { CallError } from "@svc/protocol";
import type { Clock } from "../../kernel/clock.ts";

/** The states of modules come without notice. */
const LOOK_EVERY_MS = 100;

/** Those who wait for something to be so; they look again whenever they are told to, and ten times a second. */
export class WaitList {
  readonly #clock: Clock;
  readonly #looks = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#looks.size;
  }

  lookAgain(): void {
    for (const look of [...this.#looks]) look();
  }

  /** Rejects with `call_cancelled` when the signal aborts. */
  until(signal: AbortSignal, isDone: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let cancelLook = (): void => {};
      const finish = (settle: () => void): void => {
        cancelLook();
        this.#looks.delete(look);
        signal.removeEventListener("abort", onAbort);
        settle();
      };
      const look = (): void => {
        cancelLook();
        if (isDone()) finish(resolve);
        else cancelLook = this.#clock.after(LOOK_EVERY_MS, look);
      };
      const onAbort = (): void => finish(() => reject(new CallError("call_cancelled", "the caller no longer waits")));
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener("abort", onAbort, { once: true });
      this.#looks.add(look);
      look();
    });
  }
}
