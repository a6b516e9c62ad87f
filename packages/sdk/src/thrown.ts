import { CallError } from "@svc/protocol";

/**
 * Whatever was thrown, as a CallError. An Error of a kind of its own is named: `TypeError: x is not a function`; one that brings a
 * code says enough. What was thrown may itself throw when looked at (a proxy, a getter).
 */
export function callErrorFrom(thrown: unknown): CallError {
  try {
    const error = CallError.from(thrown);
    if (error === thrown || error.code !== "invocation_failed" || !(thrown instanceof Error)) return error;
    return new CallError(error.code, named(thrown), { cause: thrown, stacktrace: error.stacktrace });
  } catch {
    return new CallError("invocation_failed", "the handler threw something that cannot be described");
  }
}

function named({ name, message }: Error): string {
  if (message === "") return name;
  return name === "Error" ? message : `${name}: ${message}`;
}
