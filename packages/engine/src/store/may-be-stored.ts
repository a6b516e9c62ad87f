import { CallError } from "@svc-runtime/protocol";

const UNCLEAR: ReadonlySet<string> = new Set(["call_timeout", "storage_failed", "store_unavailable"]);

/**
 * True if the write that failed with this error may have been executed nevertheless, or may still be. This is so after
 * `call_timeout`, `storage_failed`, `store_unavailable` and unknown errors, unless `details.outcome` is `not_written`.
 * After all other errors nothing was written.
 */
export function mayBeStored(error: unknown): boolean {
  if (!CallError.is(error)) return true;
  return UNCLEAR.has(error.code) && error.details?.outcome !== "not_written";
}
