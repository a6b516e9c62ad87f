import type { CallError } from "@svc/protocol";

/**
 * What a failed try means for the delivery.
 * - `failed`: the function, or its condition, had its chance; it counts.
 * - `hopeless`: as `failed`, and a further try would end alike.
 * - `missing`: nobody provides the function; nothing is tried until that changes.
 * - `busy`: whoever provides it takes no call just now, or the engine is shutting down; the whole binding waits a while.
 * - `interrupted`: the worker went with the call in its hands; this delivery is tried again.
 */
export type Failure = "failed" | "hopeless" | "missing" | "busy" | "interrupted";

export function failureOf(error: CallError, functionIds: readonly string[]): Failure {
  switch (error.code) {
    case "function_not_found":
      // A handler that calls a function which is not there fails with the same code. The text is part of the wire.
      return functionIds.some((id) => error.message === `Function ${id} not found`) ? "missing" : "failed";
    case "worker_overloaded":
    case "draining":
      return "busy";
    case "invocation_stopped":
      return "interrupted";
    case "trigger_loop":
      return "hopeless";
    default:
      return "failed";
  }
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 30_000;

/** Before try `tries + 1`, in milliseconds: 200 ms doubling to 30 s, each a fifth more or less. */
export function backOffMs(tries: number, random: () => number = Math.random): number {
  const base = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, tries - 1));
  return Math.round(base * (0.8 + 0.4 * random()));
}
