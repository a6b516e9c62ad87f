import { CallError } from "@svc/protocol";

/**
 * A write that a store rejected with this may have been done all the same, or may still be: `call_timeout`, `storage_failed` and what nobody foresaw, unless
 * `details.outcome` is `not_written`. Everything else is a refusal, which has changed nothing.
 */
export function mayBeStored(error: unknown): boolean {
  if (!CallError.is(error)) return true;
  return (error.code === "call_timeout" || error.code === "storage_failed") && error.details?.outcome !== "not_written";
}
