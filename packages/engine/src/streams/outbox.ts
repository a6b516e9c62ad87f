import { type Frame, frameBytes } from "@svc-runtime/protocol";
import type { Clock } from "../kernel/clock.ts";
import type { StreamClient } from "../kernel/stream-contract.ts";
import { MAX_BUFFERED_BYTES } from "./limits.ts";
import type { MessageFacts, Tap } from "./tap.ts";

/** A WebSocket of the real-time listener. */
export interface RealtimeSocket {
  readonly client: StreamClient;
  /** Queues a text frame. */
  send(frame: Frame): void;
  /** Bytes that are queued in the engine. */
  readonly bufferedBytes: number;
  /**
   * Calls `listener` once when all bytes that are queued now have been passed to the operating system. Not called if
   * the connection ends before.
   */
  onceDrained(listener: () => void): void;
  onMessage(listener: (text: string) => void): void;
  onClose(listener: () => void): void;
  close(code: number, reason: string): void;
}

/** A client that reads nothing for this long is disconnected, in milliseconds. */
const STALLED_AFTER_MS = 30_000;
/** Maximum number of replies sent while the client's buffer is full. */
const MAX_REPLIES_WHILE_FULL = 1_000;

/** The send queue of one client, with a limit on the bytes in its socket. */
export class Outbox {
  readonly #connectionId: string;
  readonly #socket: RealtimeSocket;
  readonly #clock: Clock;
  readonly #tap: Tap;
  /** Called when the client has stopped reading. */
  readonly #onStalled: (reason: string) => void;
  readonly #waiting = new Set<(hasRoom: boolean) => void>();
  #cancelStall: (() => void) | undefined;
  /** Bytes of the last snapshot that may still be in the buffer. They do not count for `isFull`. */
  #allowance = 0;
  #repliesWhileFull = 0;
  #ended = false;

  constructor(parts: {
    readonly connectionId: string;
    readonly socket: RealtimeSocket;
    readonly clock: Clock;
    readonly tap: Tap;
    readonly onStalled: (reason: string) => void;
  }) {
    this.#connectionId = parts.connectionId;
    this.#socket = parts.socket;
    this.#clock = parts.clock;
    this.#tap = parts.tap;
    this.#onStalled = parts.onStalled;
  }

  /** True if the client does not read its events fast enough. */
  get isFull(): boolean {
    const { bufferedBytes } = this.#socket;
    this.#allowance = Math.min(this.#allowance, bufferedBytes);
    return bufferedBytes > MAX_BUFFERED_BYTES + this.#allowance;
  }

  /** True if there is room for a snapshot of any size. */
  get hasRoom(): boolean {
    return this.#socket.bufferedBytes <= MAX_BUFFERED_BYTES;
  }

  /** Sends an event, or a message that precedes a snapshot. The caller must have checked that there is room. */
  send(frame: Frame, facts: MessageFacts): void {
    if (this.#ended) return;
    this.#socket.send(frame);
    if (this.#tap.isWatched) this.#tap.outbound(this.#connectionId, frame, facts);
  }

  sendSnapshot(frame: Frame, facts: MessageFacts): void {
    this.#allowance = frameBytes(frame);
    this.send(frame, facts);
  }

  /** Sends a reply to a message of the client. A slow client gets replies too, up to a limit. */
  reply(frame: Frame, facts: MessageFacts): void {
    if (this.hasRoom) this.#repliesWhileFull = 0;
    else if (++this.#repliesWhileFull > MAX_REPLIES_WHILE_FULL)
      this.#onStalled("the client does not read the replies to its messages");
    this.send(frame, facts);
  }

  /** Resolves with true when there is room for a snapshot, or with false if the connection ends first. */
  room(): Promise<boolean> {
    if (this.#ended || this.hasRoom) return Promise.resolve(!this.#ended);
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      if (this.#waiting.size > 1) return;
      this.#watchStall(this.#socket.bufferedBytes);
      this.#socket.onceDrained(() => this.#release(true));
    });
  }

  /** Ends the outbox; the connection has ended. */
  end(): void {
    this.#ended = true;
    this.#release(false);
  }

  #release(hasRoom: boolean): void {
    this.#cancelStall?.();
    this.#cancelStall = undefined;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve(hasRoom);
  }

  #watchStall(bufferedBefore: number): void {
    this.#cancelStall = this.#clock.after(STALLED_AFTER_MS, () => {
      const buffered = this.#socket.bufferedBytes;
      if (buffered < bufferedBefore) this.#watchStall(buffered);
      else this.#onStalled("the client read nothing for 30 s");
    });
  }
}
