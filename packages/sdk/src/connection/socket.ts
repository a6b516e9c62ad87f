/** An HTTP response that refused the upgrade. */
export interface UpgradeRefusal {
  /** E.g. 401. */
  readonly status: number;
  /** The engine's message. Undefined if the response is not from the engine. */
  readonly message: string | undefined;
}

/** Events of a socket. None follows `closed`. */
export interface SocketEvents {
  opened(): void;
  message(text: string): void;
  /** A ping or pong arrived. */
  alive(): void;
  /**
   * Called once, even if the socket never opened. `reason` is for people. `refusal` is present if the upgrade was
   * refused and the platform exposes it. `code` is the close code that the engine sent, if any.
   */
  closed(reason: string, refusal?: UpgradeRefusal, code?: number): void;
}

export interface Socket {
  /**
   * Only while open. Frames of one tick may be sent as one write. A string is sent as a text frame, bytes as a binary
   * frame.
   */
  send(frame: string | Uint8Array): void;
  /** Bytes that were sent but not yet passed to the system. */
  readonly bufferedBytes: number;
  /** Resolves when everything sent so far was passed to the system. */
  flushed(): Promise<void>;
  /** Absent if this kind of socket cannot ping. */
  ping?(): void;
  /** Starts the closing handshake with code 1000. `closed` follows. */
  close(): void;
  /** Destroys the socket. `closed` follows. */
  terminate(): void;
}

/** Opens a socket. Throws only for errors that are permanent, such as a malformed address. */
export type OpenSocket = (address: string, events: SocketEvents) => Socket;
