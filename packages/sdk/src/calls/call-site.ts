import { CallError } from "@svc-runtime/protocol/client";
import { RateLimiter } from "./rate-limiter.ts";

/**
 * Maximum number of calls per second whose stack is captured when they are made. One capture takes 3 to 10 microseconds,
 * which is as much as the rest of a call, so that the limit costs 0.1 % of a core. Errors of further calls have the
 * functions that await them.
 */
const MAX_SITES_PER_SECOND = 100;

/** Holds the stack of the code that makes a call. Its frames are formatted only if the call fails. */
export interface CallSite {
  readonly stack?: string;
}

type AnyFunction = (...args: never[]) => unknown;
const { captureStackTrace } = Error as unknown as {
  readonly captureStackTrace?: (holder: object, below: AnyFunction) => void;
};

export class CallSites {
  readonly #limiter = new RateLimiter(MAX_SITES_PER_SECOND);

  /** Returns the present stack without `below` and the functions that it called. Undefined over the limit. */
  capture(nowMs: number, below: AnyFunction): CallSite | undefined {
    if (!this.#limiter.take(nowMs)) return undefined;
    if (captureStackTrace === undefined) return new Error();
    const site = {};
    captureStackTrace(site, below);
    return site;
  }
}

/** Errors of calls that this worker made and that no handler has failed with yet. */
const failedCalls = new WeakSet<CallError>();

/**
 * Returns the error of a failed call with the stack of its caller. The error was created when the engine's answer
 * arrived, so its own stack does not contain the caller. The stack of the function that failed becomes the `cause`.
 *
 * @param site undefined: the stack has the functions that await the caller of this function.
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

/** Whether this is the error of a call that this worker made. True only once for each error. */
export function takeFailedCall(error: CallError): boolean {
  return failedCalls.delete(error);
}

/** The error of the function that was called, as its worker sent it. */
class RemoteError extends Error {
  constructor(message: string, stack: string) {
    super(message);
    this.name = "RemoteError";
    this.stack = stack;
  }
}

function stackAt({ stack = "" }: CallSite, { name, message }: CallError): string {
  const frames = stack.indexOf("\n    at ");
  // Stacks of engines other than V8 have no first line.
  return frames === -1 ? stack : `${name}: ${message}${stack.slice(frames)}`;
}
