import { CallError } from "@svc-runtime/protocol/client";

/** Returns a copy of the error that says whether the function has run. */
export function withExecuted(executed: "no" | "yes", error: CallError): CallError {
  return new CallError(error.code, error.message, { ...error, details: { ...error.details, executed } });
}
