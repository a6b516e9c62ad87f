/** Maximum size of a binary frame that a writer sends, in bytes. Longer writes are split. */
export const MAX_BINARY_ITEM_BYTES = 65_536;
/** A write resolves when at most this many bytes are unsent in the socket. */
export const MAX_SENDING_BYTES = 256 * 1024;
/** A reader's socket is paused above this many unread bytes or items. */
export const MAX_UNREAD_BYTES = 256 * 1024;
export const MAX_UNREAD_ITEMS = 1024;
/** Browsers cannot pause a socket: above this many unread bytes the channel is aborted. */
export const MAX_UNREAD_UNPAUSABLE_BYTES = 64 * 1024 * 1024;
/** Default limit of `text`, `json` and `bytes` of a reader. */
export const DEFAULT_COLLECT_MAX_BYTES = 16 * 1024 * 1024;

export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** A reader pings at this interval, and aborts when it receives nothing within the limit. */
export const PING_EVERY_MS = 20_000;
export const IDLE_LIMIT_MS = 60_000;
/** Writes and ends fail when the other side accepts nothing for this long. */
export const STALL_LIMIT_MS = 300_000;
