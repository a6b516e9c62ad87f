import type { Frame } from "@svc/protocol";

/** What a transport tells its user. */
export interface FrameSocketListener {
  /** One message; text arrives as its UTF-8 bytes, already checked. */
  onFrame(bytes: Buffer, kind: "text" | "binary"): void;
  /** The peer answered a ping, or sent one. */
  onAlive(): void;
  /** The connection is over, whoever ended it. Called once. */
  onClosed(code: number, reason: string): void;
}

/** A connection that carries whole frames, in order. The seam between the kernel and any transport. */
export interface FrameSocket {
  readonly remoteAddress: string | undefined;
  /** Must be called once, before the first frame can arrive. */
  listen(listener: FrameSocketListener): void;
  /** Queues a text frame; frames queued in one turn of the event loop leave together. */
  send(frame: Frame): void;
  /** Queues a binary frame. */
  sendBinary(bytes: Uint8Array): void;
  /** Frames and bytes queued and not yet taken by the operating system. */
  readonly queuedFrames: number;
  readonly queuedBytes: number;
  /** False once either side has begun to close; what is sent then is dropped. */
  readonly isOpen: boolean;
  /**
   * For the frame that is sent next. Returns a function that says, once the connection has ended, whether that frame certainly never left the process;
   * undefined if no frame is queued before it.
   */
  trackNextFrame(): (() => boolean) | undefined;
  /** Calls `listener` once, when what is queued now has been taken. */
  onceDrained(listener: () => void): void;
  /** Stops and resumes reading; the peer's writes then wait. */
  pause(): void;
  resume(): void;
  ping(): void;
  /** Closes with a code and reason, or without either; frames already queued still go out. */
  close(code?: number, reason?: string): void;
  /** Sends what is queued, then ends the connection without a closing word. */
  hangUp(): void;
  /** Cuts the connection at once. */
  terminate(): void;
}
