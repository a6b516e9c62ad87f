/** Maximum size of a binary frame that a writer sends, in bytes. Longer writes are split. */
export const MAX_BINARY_ITEM_BYTES = 65_536;
/** A write resolves when at most this number of bytes is unsent in the socket. */
export const MAX_SENDING_BYTES = 256 * 1024;
/** A reader's socket is paused when more bytes than this are unread. */
export const MAX_UNREAD_BYTES = 256 * 1024;
/** A reader's socket is paused when more items than this are unread. */
export const MAX_UNREAD_ITEMS = 1024;
/** If a platform cannot pause a socket (browsers), the channel is aborted when more bytes than this are unread. */
export const MAX_UNREAD_UNPAUSABLE_BYTES = 64 * 1024 * 1024;
/** Default limit of `text`, `json` and `bytes` of a reader. */
export const DEFAULT_COLLECT_MAX_BYTES = 16 * 1024 * 1024;

export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Interval at which a reader sends pings, in milliseconds. */
export const PING_EVERY_MS = 20_000;
/** A reader aborts when it has received nothing for this time, in milliseconds. */
export const IDLE_LIMIT_MS = 60_000;
/** A write or an end fails when the other side has accepted nothing for this time, in milliseconds. */
export const STALL_LIMIT_MS = 300_000;
