import type { Frame } from "@svc-runtime/protocol";

/** Callbacks of a transport. */
export interface FrameSocketListener {
  /** Receives one message. Text arrives as UTF-8 bytes, already validated. */
  onFrame(bytes: Buffer, kind: "text" | "binary"): void;
  /** The peer sent a ping or a pong. */
  onAlive(): void;
  /** The connection has ended on either side. Called once. */
  onClosed(code: number, reason: string): void;
}

/** A connection that carries whole frames in order. The interface between the kernel and all transports. */
export interface FrameSocket {
  readonly remoteAddress: string | undefined;
  /** Must be called once, before the first frame can arrive. */
  listen(listener: FrameSocketListener): void;
  /** Queues a text frame; frames queued in one turn of the event loop leave together. */
  send(frame: Frame): void;
  /** Queues a binary frame. */
  sendBinary(bytes: Uint8Array): void;
  /** Frames and bytes that are queued and not yet passed to the operating system. */
  readonly queuedFrames: number;
  readonly queuedBytes: number;
  /** False after either side has begun to close. Frames sent then are dropped. */
  readonly isOpen: boolean;
  /**
   * Tracks the frame that is sent next. Returns a function to call after the connection has ended: it returns whether
   * it is certain that the frame never left the process. Returns undefined if no other frame is queued now, because the
   * next frame may be sent at once.
   */
  trackNextFrame(): (() => boolean) | undefined;
  /** Calls `listener` once, when all frames queued now have been passed to the operating system. */
  onceDrained(listener: () => void): void;
  /** Pauses and resumes reading. The peer's writes wait meanwhile. */
  pause(): void;
  resume(): void;
  ping(): void;
  /** Closes with or without a code and reason. Queued frames are still sent. */
  close(code?: number, reason?: string): void;
  /** Sends the queued frames, then ends the connection without a close frame. */
  hangUp(): void;
  /** Ends the connection at once. */
  terminate(): void;
}
