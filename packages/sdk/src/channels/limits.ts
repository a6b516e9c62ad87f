/** Longest binary frame that a writer sends, in bytes; longer writes are split. */
export const MAX_BINARY_ITEM_BYTES = 65_536;
/** A write resolves when at most so many bytes wait in the socket. */
export const MAX_SENDING_BYTES = 256 * 1024;
/** Bytes of writes that nobody waited for; above it further writes are refused with `overloaded`. */
export const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** A reader's socket is paused while so much is unread, in bytes and in items. */
export const MAX_UNREAD_BYTES = 256 * 1024;
export const MAX_UNREAD_ITEMS = 1024;
/** Browsers cannot pause a socket: a page that leaves more unread loses the channel. */
export const MAX_UNREAD_UNPAUSABLE_BYTES = 64 * 1024 * 1024;
/** What `text`, `json` and `bytes` of a reader collect at most when no other limit is given. */
export const DEFAULT_COLLECT_MAX_BYTES = 16 * 1024 * 1024;

export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** A reader that reads pings so often, and gives up when nothing at all comes for so long. */
export const PING_EVERY_MS = 20_000;
export const IDLE_LIMIT_MS = 60_000;
/** A write or an end of which the other side takes nothing for so long has failed. */
export const STALL_LIMIT_MS = 300_000;
