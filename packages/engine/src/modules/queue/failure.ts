import type { Attempt } from "./job-attempt.ts";

/**
 * What a failed attempt means for the job.
 * - `failed`: the handler had its chance; it counts, and the job waits for its back-off.
 * - `stopped`: the worker went with the job in its hands. It may have run, so it counts; but it is tried again at once.
 * - `missing`: nobody provides the function. Not counted; the function's jobs wait until it is there.
 * - `busy`: whoever provides it takes no call just now. Not counted; the function's jobs wait a while.
 */
export type Failure = "failed" | "stopped" | "missing" | "busy";

/** How the engine says that it could not hand a call on. The text is part of the wire. */
const NOT_HANDED_ON = "every worker that provides ";

export function failureOf({ error, failure }: Attempt, functionIds: readonly string[]): Failure {
  switch (error.code) {
    case "function_not_found":
      // A handler that calls a function which is not there fails with the same code. The text is part of the wire.
      return functionIds.some((id) => error.message === `Function ${id} not found`) ? "missing" : "failed";
    case "worker_overloaded":
    case "channel_send_failed":
    case "draining":
      // A worker has the job: then it is a call that its handler made that was not handed on, and the handler ran.
      return failure.worker !== undefined && error.message.startsWith(NOT_HANDED_ON) ? "failed" : "busy";
    case "invocation_stopped":
      return "stopped";
    default:
      return "failed";
  }
}
