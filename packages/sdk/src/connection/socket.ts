/** An HTTP response that refused the upgrade. */
export interface UpgradeRefusal {
  /** HTTP status, for example 401. */
  readonly status: number;
  /** The engine's message. Undefined if the response did not come from the engine. */
  readonly message: string | undefined;
}

/** Events of a socket. No event follows `closed`. */
export interface SocketEvents {
  opened(): void;
  message(text: string): void;
  /** A ping or pong arrived. */
  alive(): void;
  /**
   * Called once, even if the socket never opened. `reason` is a text for people. `refusal` is present if the upgrade
   * was refused and the platform shows the response. `code` is the close code, if the engine sent one.
   */
  closed(reason: string, refusal?: UpgradeRefusal, code?: number): void;
}

export interface Socket {
  /**
   * Sends a frame. May be called only while the socket is open. Several frames of one tick may be sent in one write. A
   * string becomes a text frame, bytes become a binary frame.
   */
  send(frame: string | Uint8Array): void;
  /** Number of bytes that were sent but not yet passed to the operating system. */
  readonly bufferedBytes: number;
  /** Resolves when all bytes sent so far were passed to the operating system. */
  flushed(): Promise<void>;
  /** Absent if this kind of socket cannot ping. */
  ping?(): void;
  /** Starts the closing handshake with code 1000. `closed` is called later. */
  close(): void;
  /** Destroys the socket. `closed` is called later. */
  terminate(): void;
}

/** Opens a socket. Throws only for permanent errors, such as a malformed address. */
export type OpenSocket = (address: string, events: SocketEvents) => Socket;
