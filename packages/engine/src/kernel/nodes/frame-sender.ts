import { MAX_PIECES_BYTES, type NodePiece, nodePieceBytes, splitNodeFrame } from "@svc-runtime/protocol/nodes";
import type { Clock } from "../clock.ts";

/** Bytes that a side may send before it has received a grant from the other side. At least the maximum message size. */
export const INITIAL_GRANT_BYTES = 1024 * 1024;
/**
 * Maximum number of bytes that wait for a grant. If more wait, the session ends. Calls are refused much earlier, and
 * all other frames are small or limited.
 */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** A message is sent again if it is not acknowledged within this time, in milliseconds. */
const RESEND_AFTER_MS = 500;

interface SentMessage {
  readonly n: number;
  readonly pieces: readonly NodePiece[];
  sentAt: number;
}

/**
 * The outgoing frames of one session: numbers messages, keeps them until they are acknowledged, sends them again, and
 * never sends more bytes than the receiver granted.
 */
export class FrameSender {
  readonly #clock: Clock;
  readonly #transmit: (n: number, pieces: readonly NodePiece[]) => void;
  #waiting: NodePiece[] = [];
  #waitingBytes = 0;
  #unacknowledged: SentMessage[] = [];
  #lastN = 0;
  /** Bytes of all pieces that were sent, each counted once. */
  #sentBytes = 0;
  #granted = INITIAL_GRANT_BYTES;
  /** Number of pieces that were queued and sent in this session. */
  #queuedPieces = 0;
  #sentPieces = 0;
  /** Time of the last acknowledgement or grant, or of the last frame that was added while nothing waited for one. */
  #progressAt: number;
  /**
   * True after the oldest message was sent again. The later messages are then sent again at the next acknowledgement.
   */
  #isRecovering = false;
  #cancelResend: (() => void) | undefined;

  /** `transmit` sends a message at once. */
  constructor(clock: Clock, transmit: (n: number, pieces: readonly NodePiece[]) => void) {
    this.#clock = clock;
    this.#transmit = transmit;
    this.#progressAt = clock.monotonic();
  }

  /** True if the queued frames exceed the grant. Then no call should be added. */
  get isFull(): boolean {
    return this.#sentBytes + this.#waitingBytes >= this.#granted;
  }

  /**
   * Returns whether an answer of this size may be queued. Half of the bound is for answers, because calls, questions
   * and items of channels need room as well: above the bound the session ends.
   */
  hasRoomFor(bytes: number): boolean {
    return this.#waitingBytes + bytes <= MAX_WAITING_BYTES / 2;
  }

  /** True if the queue exceeds its limit, because the receiver is too slow. */
  get isOverfull(): boolean {
    return this.#waitingBytes > MAX_WAITING_BYTES;
  }

  /** Time without an acknowledgement or grant, in milliseconds. 0 if no message or frame waits for one. */
  get stalledMs(): number {
    const isIdle = this.#unacknowledged.length === 0 && this.#waiting.length === 0;
    return isIdle ? 0 : this.#clock.monotonic() - this.#progressAt;
  }

  /** Returns a function that returns true as long as no part of the next frame was sent. */
  trackNextFrame(): () => boolean {
    const first = this.#queuedPieces;
    return () => this.#sentPieces <= first;
  }

  /** Queues a frame for the next `flush`. */
  add(frame: Uint8Array): void {
    if (this.stalledMs === 0) this.#progressAt = this.#clock.monotonic();
    for (const piece of splitNodeFrame(frame)) {
      this.#waiting.push(piece);
      this.#waitingBytes += nodePieceBytes(piece);
      this.#queuedPieces++;
    }
  }

  /** Sends what the grant permits, in as few messages as possible. Returns whether it sent anything. */
  flush(): boolean {
    let at = 0;
    while (at < this.#waiting.length) {
      const first = at;
      let bytes = 0;
      for (; at < this.#waiting.length; at++) {
        const more = bytes + nodePieceBytes(this.#waiting[at] as NodePiece);
        if (more > MAX_PIECES_BYTES || this.#sentBytes + more > this.#granted) break;
        bytes = more;
      }
      if (at === first) break;
      this.#sentBytes += bytes;
      this.#waitingBytes -= bytes;
      const message = { n: ++this.#lastN, pieces: this.#waiting.slice(first, at), sentAt: 0 };
      this.#unacknowledged.push(message);
      this.#send(message);
    }
    this.#waiting = this.#waiting.slice(at);
    this.#sentPieces += at;
    this.#armResend();
    return at > 0;
  }

  /**
   * Handles an acknowledgement and a grant of the receiver. `isMissing`: at least one message after `ack` was lost,
   * because the receiver got a later one. Returns an error text if the receiver acknowledges a message that was never
   * sent.
   */
  acknowledge(ack: number, granted: number, isMissing: boolean): string | undefined {
    if (ack > this.#lastN) return `it acknowledges message ${ack} of ${this.#lastN}`;
    const count = this.#unacknowledged.findIndex(({ n }) => n > ack);
    const acknowledged = count === -1 ? this.#unacknowledged.length : count;
    this.#unacknowledged.splice(0, acknowledged);
    if (acknowledged > 0 || granted > this.#granted) this.#progressAt = this.#clock.monotonic();
    this.#granted = Math.max(this.#granted, granted);
    if (isMissing || (this.#isRecovering && acknowledged > 0)) {
      for (const message of this.#unacknowledged) this.#send(message);
      this.#isRecovering = false;
    }
    if (this.#unacknowledged.length === 0) {
      this.#cancelResend?.();
      this.#cancelResend = undefined;
    }
    return undefined;
  }

  stop(): void {
    this.#cancelResend?.();
    this.#unacknowledged = [];
    this.#waiting = [];
  }

  #send(message: SentMessage): void {
    message.sentAt = this.#clock.monotonic();
    this.#transmit(message.n, message.pieces);
  }

  /**
   * Sends the oldest message again when its acknowledgement is late. Does not send the other messages again, because
   * the receiver may be dead.
   */
  #armResend(): void {
    const [oldest] = this.#unacknowledged;
    if (oldest === undefined || this.#cancelResend !== undefined) return;
    const dueAt = oldest.sentAt + RESEND_AFTER_MS;
    this.#cancelResend = this.#clock.after(Math.max(1, dueAt - this.#clock.monotonic()), () => {
      this.#cancelResend = undefined;
      const [late] = this.#unacknowledged;
      if (late !== undefined && this.#clock.monotonic() - late.sentAt >= RESEND_AFTER_MS) {
        this.#isRecovering = true;
        this.#send(late);
      }
      this.#armResend();
    });
  }
}
