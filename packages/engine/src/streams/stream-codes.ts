/** Close codes of the real-time listener. */
export const CLOSE = {
  /** The client sends too many messages, or only malformed ones. */
  policy: 1008,
  /** The engine failed. */
  internal: 1011,
  /** The provider of the streams has changed; the client should reconnect. */
  restart: 1012,
  /** The client does not read its messages fast enough. */
  tooSlow: 4008,
} as const;

/** Interval of heartbeats to extended clients, in milliseconds. */
export const HEARTBEAT_MS = 10_000;
/** A client with more buffered bytes than this is too slow. */
export const MAX_BUFFERED_BYTES = 1024 * 1024;
/** Timeout for reading a group, in milliseconds. */
export const READ_DEADLINE_MS = 30_000;
/** Maximum number of subscriptions of one connection. */
export const MAX_SUBSCRIPTIONS = 100;
