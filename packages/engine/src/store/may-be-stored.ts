import { CallError } from "@svc-runtime/protocol";

const UNCLEAR: ReadonlySet<string> = new Set(["call_timeout", "storage_failed", "store_unavailable"]);

/**
 * True if a write that failed with this error may have happened or may still happen: after `call_timeout`,
 * `storage_failed`, `store_unavailable` and unknown errors, unless `details.outcome` is `not_written`. After other errors nothing was
 * written.
 */
export function mayBeStored(error: unknown): boolean {
  if (!CallError.is(error)) return true;
  return UNCLEAR.has(error.code) && error.details?.outcome !== "not_written";
}
