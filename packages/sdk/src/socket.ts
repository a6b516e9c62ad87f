/** What a socket tells; after `closed` it tells nothing more. */
export interface SocketEvents {
  opened(): void;
  message(text: string): void;
  /** A sign of life that is no message: a ping or pong. */
  alive(): void;
  /**
   * Comes once, also when the socket never opened. `reason` is for people; `refusedWith` is the HTTP status of an answer that refused the
   * upgrade, where the platform tells it.
   */
  closed(reason: string, refusedWith?: number): void;
}

export interface Socket {
  /** Only while open. Frames of one tick may leave as one write. */
  send(text: string): void;
  /** Bytes that were sent but have not left this process. */
  readonly bufferedBytes: number;
  /** Resolves when what was sent so far was handed to the system. */
  flushed(): Promise<void>;
  /** Absent where the kind of socket cannot ping. */
  ping?(): void;
  /** Says goodbye with code 1000; `closed` follows. */
  close(): void;
  /** Ends the socket at once; `closed` follows. */
  terminate(): void;
}

/** Opens a socket. Throws only for what can never work, such as a malformed address. */
export type OpenSocket = (address: string, events: SocketEvents) => Socket;
