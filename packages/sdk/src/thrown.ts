import { CallError } from "@svc/protocol";

/** Whatever was thrown, as a CallError. What was thrown may itself throw when looked at (a proxy, a getter). */
export function callErrorFrom(thrown: unknown): CallError {
  try {
    return CallError.from(thrown);
  } catch {
    return new CallError("invocation_failed", "the handler threw something that cannot be described");
  }
}
