import { CallError } from "@svc-runtime/protocol/client";

/**
 * Converts a thrown value to a CallError. If the value is an instance of a subclass of Error without a code, the
 * message begins with its name, for example `TypeError: x is not a function`. Reading the thrown value may itself throw
 * (a proxy, a getter).
 */
export function callErrorFrom(thrown: unknown): CallError {
  try {
    const error = CallError.from(thrown);
    if (error === thrown || error.code !== "invocation_failed" || !(thrown instanceof Error)) return error;
    return new CallError(error.code, named(thrown), { cause: thrown, stacktrace: error.stacktrace });
  } catch {
    return new CallError("invocation_failed", "the handler threw a value that cannot be described");
  }
}

function named({ name, message }: Error): string {
  if (message === "") return name;
  return name === "Error" ? message : `${name}: ${message}`;
}
