/** One item of a channel: text and bytes keep their kind and their boundaries. */
export type ChannelItem = string | Uint8Array;

/** Close codes of a channel socket whose stream is whole; every other one means that it broke off. */
export const CLOSE_NORMAL = 1000;
export const CLOSE_WITHOUT_CODE = 1005;

/** What a channel's socket tells; after `closed` it tells nothing more. */
export interface ChannelSocketEvents {
  opened(): void;
  item(item: ChannelItem): void;
  /** A sign of life that is no item. */
  alive(): void;
  /** Comes once, also when the socket never opened (1006 then). `reason` is for people. */
  closed(code: number, reason: string): void;
}

export interface ChannelSocket {
  /** Only while open. */
  send(item: ChannelItem): void;
  /** False as soon as either side has said goodbye. */
  readonly isOpen: boolean;
  /** Bytes that were sent but have not left this process. */
  readonly bufferedBytes: number;
  /** Resolves when at most so many bytes are buffered, and when the socket is closed. */
  drained(limitBytes: number): Promise<void>;
  /** Stops reading until `resume`. Absent where the platform cannot hold back a socket. */
  pause?(): void;
  resume?(): void;
  /** Absent where the platform cannot ping. */
  ping?(): void;
  /** Says goodbye with code 1000, behind everything that was sent; `closed` follows. */
  close(): void;
  /** Breaks off at once, so that the other side cannot take it for a good end; `closed` follows. */
  terminate(): void;
}

/** Opens one end's socket. May throw for an address that can never work. */
export type OpenChannelSocket = (address: string, events: ChannelSocketEvents) => ChannelSocket;
