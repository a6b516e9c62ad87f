/** Interval of heartbeats to extended clients, in milliseconds. */
export const HEARTBEAT_MS = 10_000;
/** Timeout for reading a group, in milliseconds. */
export const READ_DEADLINE_MS = 30_000;
/** A client for which more bytes than this wait is too slow. */
export const MAX_BUFFERED_BYTES = 1024 * 1024;
/** Maximum number of subscriptions of one connection. */
export const MAX_SUBSCRIPTIONS = 100;
