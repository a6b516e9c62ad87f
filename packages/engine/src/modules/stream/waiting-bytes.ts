import { Quota } from "../../kernel/module.ts";

/** Bytes of events that may wait for one trigger. */
export const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** Bounds what waits for all triggers of the module together. */
export function waitingBytesQuota(): Quota {
  return new Quota("bytes of waiting events", { each: MAX_WAITING_BYTES, restricted: 2 * MAX_WAITING_BYTES, total: 4 * MAX_WAITING_BYTES });
}
