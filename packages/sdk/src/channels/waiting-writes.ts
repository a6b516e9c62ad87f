import { CallError } from "@svc-runtime/protocol/client";

/** Maximum number of bytes of pending writes. If there are more, further writes fail with `overloaded`. */
export const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** Returns the error for a write above the limit of pending writes. */
export function tooMuchUnsent(): CallError {
  const message = `over ${MAX_WAITING_BYTES} bytes of earlier writes are unsent; await each write`;
  return new CallError("overloaded", message, { details: { limit_bytes: MAX_WAITING_BYTES } });
}
