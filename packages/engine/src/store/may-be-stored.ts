import { CallError } from "@svc-runtime/protocol";

/**
 * True if a write that failed with this error may have happened or may still happen: after `call_timeout`,
 * `storage_failed` and unknown errors, unless `details.outcome` is `not_written`. After other errors nothing was
 * written.
 */
export function mayBeStored(error: unknown): boolean {
  if (!CallError.is(error)) return true;
  return (error.code === "call_timeout" || error.code === "storage_failed") && error.details?.outcome !== "not_written";
}
