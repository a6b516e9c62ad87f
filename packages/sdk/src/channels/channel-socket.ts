/** One item of a channel. Strings and bytes keep their type and their boundaries. */
export type ChannelItem = string | Uint8Array;

const encoder = new TextEncoder();

/** Returns the item as bytes, strings as UTF-8. */
export function bytesOf(item: ChannelItem): Uint8Array {
  return typeof item === "string" ? encoder.encode(item) : item;
}

/** Close codes of a channel whose stream is complete. Every other code means that it failed. */
export const CLOSE_NORMAL = 1000;
export const CLOSE_WITHOUT_CODE = 1005;

/** Events of a channel's socket. None follows `closed`. */
export interface ChannelSocketEvents {
  opened(): void;
  item(item: ChannelItem): void;
  /** A ping or pong arrived. */
  alive(): void;
  /** Called once, even if the socket never opened (with 1006). `reason` is for people. */
  closed(code: number, reason: string): void;
}

export interface ChannelSocket {
  /** Only while open. */
  send(item: ChannelItem): void;
  /** False once either side has started the closing handshake. */
  readonly isOpen: boolean;
  /** Bytes that were sent but not yet passed to the system. */
  readonly bufferedBytes: number;
  /** Resolves when at most `limitBytes` bytes are buffered, and when the socket is closed. */
  drained(limitBytes: number): Promise<void>;
  /** Stops reading until `resume`. Absent if the platform cannot pause a socket. */
  pause?(): void;
  resume?(): void;
  /** Absent if the platform cannot ping. */
  ping?(): void;
  /** Starts the closing handshake with code 1000, after everything that was sent. `closed` follows. */
  close(): void;
  /** Destroys the socket, so that the other side does not see a normal end. `closed` follows. */
  terminate(): void;
}

/** Opens the socket of one end. Throws only for errors that are permanent, such as a malformed address. */
export type OpenChannelSocket = (address: string, events: ChannelSocketEvents) => ChannelSocket;
