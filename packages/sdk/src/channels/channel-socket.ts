/** One item of a channel. Strings and bytes keep their type and their boundaries. */
export type ChannelItem = string | Uint8Array;

const encoder = new TextEncoder();

/** Returns the item as bytes, strings as UTF-8. */
export function bytesOf(item: ChannelItem): Uint8Array {
  return typeof item === "string" ? encoder.encode(item) : item;
}

/** Close codes of a channel whose stream is complete. All other codes mean that the channel failed. */
export const CLOSE_NORMAL = 1000;
export const CLOSE_WITHOUT_CODE = 1005;

/** Events of a channel's socket. No event follows `closed`. */
export interface ChannelSocketEvents {
  opened(): void;
  item(item: ChannelItem): void;
  /** A ping or pong arrived. */
  alive(): void;
  /** Called once, even if the socket never opened (then with code 1006). `reason` is a text for people. */
  closed(code: number, reason: string): void;
}

export interface ChannelSocket {
  /** Sends an item. May be called only while the socket is open. */
  send(item: ChannelItem): void;
  /** False after either side has started the closing handshake. */
  readonly isOpen: boolean;
  /** Number of bytes that were sent but not yet passed to the operating system. */
  readonly bufferedBytes: number;
  /** Resolves when at most `limitBytes` bytes are buffered, or when the socket is closed. */
  drained(limitBytes: number): Promise<void>;
  /** Stops reading until `resume`. Absent if the platform cannot pause a socket. */
  pause?(): void;
  resume?(): void;
  /** Absent if the platform cannot ping. */
  ping?(): void;
  /** Starts the closing handshake with code 1000, after everything that was sent. `closed` is called later. */
  close(): void;
  /** Destroys the socket, so that the other side does not see a normal end. `closed` is called later. */
  terminate(): void;
}

/** Opens the socket of one channel end. Throws only for permanent errors, such as a malformed address. */
export type OpenChannelSocket = (address: string, events: ChannelSocketEvents) => ChannelSocket;
