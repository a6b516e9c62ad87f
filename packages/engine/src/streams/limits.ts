/** Interval of heartbeats to extended clients, in milliseconds. */
export const HEARTBEAT_MS = 10_000;
/** Timeout for reading a group, in milliseconds. */
export const READ_DEADLINE_MS = 30_000;
/** Maximum number of subscriptions of one connection. */
export const MAX_SUBSCRIPTIONS = 100;
