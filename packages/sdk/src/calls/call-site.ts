import { CallError } from "@svc-runtime/protocol/client";
import { RateLimiter } from "./rate-limiter.ts";

/**
 * Maximum number of calls per second whose stack is captured when they are made. Capturing a stack takes 3 to 10
 * microseconds, as much as the rest of a call, so this limit keeps the cost at 0.1 % of a core. For calls beyond the
 * limit, the stack of an error contains only the functions that await the call.
 */
const MAX_SITES_PER_SECOND = 100;

/** The stack of the code that makes a call. It is formatted only if the call fails. */
export interface CallSite {
  readonly stack?: string;
}

type AnyFunction = (...args: never[]) => unknown;
const { captureStackTrace } = Error as unknown as {
  readonly captureStackTrace?: (holder: object, below: AnyFunction) => void;
};

export class CallSites {
  readonly #limiter = new RateLimiter(MAX_SITES_PER_SECOND);

  /**
   * Returns the current stack, without `below` and the functions that `below` called. Returns undefined if the limit is
   * reached.
   */
  capture(nowMs: number, below: AnyFunction): CallSite | undefined {
    if (!this.#limiter.take(nowMs)) return undefined;
    if (captureStackTrace === undefined) return new Error();
    const site = {};
    captureStackTrace(site, below);
    return site;
  }
}

/** Errors of calls that this worker made. An error is removed when a handler fails with it. */
const failedCalls = new WeakSet<CallError>();

/**
 * Returns the error of a failed call with the stack of its caller. The error was created when the engine's response
 * arrived, so its own stack does not contain the caller. The stack of the function that failed becomes the `cause`.
 *
 * @param site Stack of the code that made the call. If undefined, the stack contains the functions that await the
 * caller of this function.
 */
export function failedCall(error: CallError, site: CallSite | undefined): CallError {
  const { code, message, details, stacktrace } = error;
  const cause = error.cause ?? (stacktrace === undefined ? undefined : new RemoteError(message, stacktrace));
  const failed = new CallError(code, message, { details, stacktrace, cause });
  if (site === undefined) captureStackTrace?.(failed, failedCall);
  else failed.stack = stackAt(site, failed);
  failedCalls.add(failed);
  return failed;
}

/** Returns true if this is the error of a call that this worker made. Returns true only once for each error. */
export function takeFailedCall(error: CallError): boolean {
  return failedCalls.delete(error);
}

/** Error of the called function, as the function's worker sent it. */
class RemoteError extends Error {
  constructor(message: string, stack: string) {
    super(message);
    this.name = "RemoteError";
    this.stack = stack;
  }
}

function stackAt({ stack = "" }: CallSite, { name, message }: CallError): string {
  const frames = stack.indexOf("\n    at ");
  // Stacks of JavaScript engines other than V8 have no first line with the message.
  return frames === -1 ? stack : `${name}: ${message}${stack.slice(frames)}`;
}
