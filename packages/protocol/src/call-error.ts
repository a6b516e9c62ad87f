import { type ErrorCode, type Executed, factsOf } from "./error-codes.ts";

/** `error` of an `invocationresult` on the wire. `details` is sent only to receivers that declared `error_details`. */
export interface WireError {
  readonly code: string;
  readonly message: string;
  readonly stacktrace?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

export interface CallErrorOptions {
  /** Data that a caller may branch on. Sent to the caller, so never secrets or stacks. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** Not sent. For logs. */
  readonly cause?: unknown;
  /** Stack of the failed handler, as its SDK sent it. */
  readonly stacktrace?: string | undefined;
}

// A registered symbol instead of instanceof: two copies of this package in one process must recognise each other's
// errors.
const brand = Symbol.for("svc.CallError");

/**
 * The error of a failed call: a code to branch on, a message for people, data in `details`. `code` is a code from
 * `error-codes.ts`, or a code that the handler chose.
 */
export class CallError extends Error {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly stacktrace: string | undefined;

  constructor(code: ErrorCode | (string & {}), message: string, options: CallErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "CallError";
    this.code = code;
    this.details = options.details;
    this.stacktrace = options.stacktrace;
    Object.defineProperty(this, brand, { value: true });
  }

  /** Whether the same call may succeed later without a change by the caller. */
  get retryable(): boolean {
    return factsOf(this.code).retryable;
  }

  /** Whether the function may have run: `details.executed`, or the value for the code if that is not set. */
  get executed(): Executed {
    const own = this.details?.executed;
    return own === "no" || own === "unknown" || own === "yes" ? own : factsOf(this.code).executed;
  }

  get httpStatus(): number {
    return factsOf(this.code).httpStatus;
  }

  static is(thrown: unknown): thrown is CallError {
    return typeof thrown === "object" && thrown !== null && brand in thrown;
  }

  /**
   * Converts a thrown value. Returns a CallError unchanged. An Error keeps its message and its stack, and also its
   * `code` if that begins with a lower-case letter. Any other value, and an Error without such a code, becomes
   * `invocation_failed`.
   */
  static from(thrown: unknown): CallError {
    if (CallError.is(thrown)) return thrown;
    if (thrown instanceof Error) {
      const code =
        "code" in thrown && typeof thrown.code === "string" && /^[a-z]/.test(thrown.code)
          ? thrown.code
          : "invocation_failed";
      return new CallError(code, thrown.message || thrown.name, { cause: thrown, stacktrace: thrown.stack });
    }
    return new CallError(
      "invocation_failed",
      typeof thrown === "string" ? thrown : `the handler threw ${describe(thrown)}`,
      { cause: thrown },
    );
  }

  static fromWire(error: WireError): CallError {
    return new CallError(error.code, error.message, { details: error.details, stacktrace: error.stacktrace });
  }

  toWire(): WireError {
    return { code: this.code, message: this.message, stacktrace: this.stacktrace, details: this.details };
  }
}

function describe(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
