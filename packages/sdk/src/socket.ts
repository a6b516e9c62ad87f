/** An HTTP answer to the upgrade that is no socket. */
export interface UpgradeRefusal {
  /** E.g. 401. */
  readonly status: number;
  /** In the engine's words; undefined when the answer is not the engine's. */
  readonly message: string | undefined;
}

/** What a socket tells; after `closed` it tells nothing more. */
export interface SocketEvents {
  opened(): void;
  message(text: string): void;
  /** A sign of life that is no message: a ping or pong. */
  alive(): void;
  /**
   * Comes once, also when the socket never opened. `reason` is for people; `refusal` is there when an answer refused the upgrade and the
   * platform tells; `code` is the close code that the engine sent, if it did.
   */
  closed(reason: string, refusal?: UpgradeRefusal, code?: number): void;
}

export interface Socket {
  /** Only while open. Frames of one tick may leave as one write. Text goes as a text frame, bytes as a binary one. */
  send(frame: string | Uint8Array): void;
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
