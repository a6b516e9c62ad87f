import { CallError, factsOf } from "@svc/protocol";

/** Why a request is not answered by its function's result. */
export interface Failure {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** For the log; never sent. */
  readonly cause?: unknown;
}

/** A request that is refused before its function runs, or a result that cannot be an answer. */
export class Refusal extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message, failure.cause === undefined ? undefined : { cause: failure.cause });
    this.name = "Refusal";
    this.failure = failure;
  }
}

/** Seconds after which a client may try again what failed for lack of a worker or of room. */
const RETRY_AFTER = { "Retry-After": "1" } as const;

/** A client that asks too often; `waitMs` says when it may try again. */
export function tooOften(waitMs: number, message: string): Refusal {
  return new Refusal({ status: 429, code: "rate_limited", message, headers: { "Retry-After": String(Math.max(1, Math.ceil(waitMs / 1000))) } });
}

export function unavailable(code: string, message: string, cause?: unknown): Failure {
  return { status: 503, code, message, headers: RETRY_AFTER, cause };
}

/**
 * The failure that a thrown error stands for. `ownFunctions` are the function of the route and its condition: when one of them
 * is not there the route is out of service (503), while a function that the handler itself missed is the handler's error.
 */
export function failureOf(thrown: unknown, ownFunctions: readonly (string | undefined)[]): Failure {
  if (thrown instanceof Refusal) return thrown.failure;
  if (!CallError.is(thrown)) {
    return { status: 500, code: "invocation_error", message: "the engine failed to answer; its log has the reason", cause: thrown };
  }
  const { code, message } = thrown;
  const missing = missingFunction(thrown);
  if (code === "function_not_found" && missing !== undefined && ownFunctions.includes(missing)) return unavailable(code, message, thrown);
  const { httpStatus } = factsOf(code);
  if (httpStatus === 503) return unavailable(code, message, thrown);
  // The table's status of a bad frame blames its sender, and here that is the worker, not the client.
  if (code === "invalid_message") return { status: 500, code, message, cause: thrown };
  return { status: httpStatus, code, message, cause: thrown };
}

/**
 * What strangers are told. What a handler threw without choosing a code was not meant for them and may name tables, paths or keys; an
 * error with a code of its own was chosen to be sent.
 */
export function forStrangers(failure: Failure): Failure {
  if (failure.code !== "invocation_failed") return failure;
  return { ...failure, message: "the function failed; the engine's log has the reason, by this error_id" };
}

function missingFunction(error: CallError): string | undefined {
  const id = error.details?.function_id;
  return typeof id === "string" ? id : undefined;
}
