import { Quota } from "../../kernel/module.ts";

/** Bytes of events that may wait for one trigger. */
export const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** Limits the bytes that wait or are being delivered for all triggers of restricted principals. Triggers of trusted ones have a limit each. */
export function waitingBytesQuota(): Quota {
  return new Quota("bytes of waiting events", { each: MAX_WAITING_BYTES / 4, restricted: 2 * MAX_WAITING_BYTES });
}
