/** Why a connection of the real-time listener is closed. */
export const CLOSE = {
  /** It sends too much, or nothing that can be understood. */
  policy: 1008,
  /** The engine failed. */
  internal: 1011,
  /** Connect again: who keeps the streams has changed. */
  restart: 1012,
  /** It does not take what it is sent. */
  tooSlow: 4008,
} as const;

/** How often an extended client hears from the engine, in milliseconds. */
export const HEARTBEAT_MS = 10_000;
/** Above this, in bytes, a client does not keep up. */
export const MAX_BUFFERED_BYTES = 1024 * 1024;
/** How long reading a group may take, in milliseconds. */
export const READ_DEADLINE_MS = 30_000;
/** Of one connection. */
export const MAX_SUBSCRIPTIONS = 100;
