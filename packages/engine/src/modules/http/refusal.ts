import { CallError, factsOf, httpCodeOf } from "@svc-runtime/protocol";

/** Reason why a request does not get the result of its function. */
export interface Failure {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** For the log; never sent. */
  readonly cause?: unknown;
}

/** A request that is refused before its function runs, or a result that is not a valid response. */
export class Refusal extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message, failure.cause === undefined ? undefined : { cause: failure.cause });
    this.name = "Refusal";
    this.failure = { ...failure, code: httpCodeOf(failure.code) };
  }
}

/** Header of a response after overload or a missing worker: the client may retry after 1 s. */
const RETRY_AFTER = { "Retry-After": "1" } as const;

/** Returns the refusal of a client that exceeds its rate limit; it may retry after `waitMs`. */
export function rateLimited(waitMs: number, message: string): Refusal {
  return new Refusal({
    status: 429,
    code: "rate_limited",
    message,
    headers: { "Retry-After": String(Math.max(1, Math.ceil(waitMs / 1000))) },
  });
}

export function unavailable(code: string, message: string, cause?: unknown): Failure {
  return { status: 503, code, message, headers: RETRY_AFTER, cause };
}

/**
 * Converts a thrown error to a failure. `ownFunctions` are the functions of the route. If one of them has no provider,
 * the route is out of service (503). If the handler itself calls a missing function, that is the handler's error.
 */
export function failureOf(thrown: unknown, ownFunctions: readonly (string | undefined)[]): Failure {
  if (thrown instanceof Refusal) return thrown.failure;
  if (!CallError.is(thrown)) {
    return {
      status: 500,
      code: "invocation_error",
      message: "the engine failed to respond; its log has the reason",
      cause: thrown,
    };
  }
  const { code, message } = thrown;
  const missing = missingFunction(thrown);
  if (code === "function_not_found" && missing !== undefined && ownFunctions.includes(missing))
    return unavailable(code, message, thrown);
  const { httpStatus } = factsOf(code);
  if (httpStatus === 503) return unavailable(code, message, thrown);
  // The status of this code in the table of error codes blames the sender of the malformed message. Here the sender is
  // the worker and not the HTTP client, so the status is 500.
  if (code === "invalid_message") return { status: 500, code, message, cause: thrown };
  return { status: httpStatus, code, message, cause: thrown };
}

/**
 * Returns the failure without internal details. An error that a handler threw without a code may contain names of
 * tables, paths or keys. An error with a code of its own is sent unchanged, because its author meant it for clients.
 */
export function publicFailure(failure: Failure): Failure {
  if (failure.code !== "invocation_failed") return failure;
  return { ...failure, message: "the function failed; the engine's log has the reason, by this error_id" };
}

function missingFunction(error: CallError): string | undefined {
  const id = error.details?.function_id;
  return typeof id === "string" ? id : undefined;
}
