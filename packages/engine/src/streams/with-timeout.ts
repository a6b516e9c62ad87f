import { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../kernel/clock.ts";

/** Returns the result of `work`. Rejects with `call_timeout` after `ms` milliseconds; a later result is dropped. */
export function withTimeout<T>(clock: Clock, ms: number, what: string, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new CallError("call_timeout", `${what} took longer than ${ms} ms`)));
    Promise.resolve().then(work).finally(cancel).then(resolve, reject);
  });
}
