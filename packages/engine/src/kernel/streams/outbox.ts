import { type Frame, frameBytes } from "@svc/protocol";
import type { Clock } from "../clock.ts";
import type { RealtimeSocket } from "./realtime-socket.ts";
import { MAX_BUFFERED_BYTES } from "./stream-codes.ts";
import type { MessageFacts, Tap } from "./tap.ts";

/** A client that takes nothing for so long is closed, in milliseconds. */
const STALLED_AFTER_MS = 30_000;
/** Replies that a client gets while it is behind with taking them. */
const MAX_REPLIES_WHILE_FULL = 1_000;

/** What one client is sent, and how much of it may wait in its socket. */
export class Outbox {
  readonly #connectionId: string;
  readonly #socket: RealtimeSocket;
  readonly #clock: Clock;
  readonly #tap: Tap;
  /** The client takes nothing any more. */
  readonly #onStalled: (reason: string) => void;
  readonly #waiting = new Set<(hasRoom: boolean) => void>();
  #cancelStall: (() => void) | undefined;
  /** Bytes of the snapshot that may still be on its way: it does not count as falling behind. */
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

  /** The client does not keep up with its events. */
  get isFull(): boolean {
    const { bufferedBytes } = this.#socket;
    this.#allowance = Math.min(this.#allowance, bufferedBytes);
    return bufferedBytes > MAX_BUFFERED_BYTES + this.#allowance;
  }

  /** There is room for a snapshot, however large. */
  get hasRoom(): boolean {
    return this.#socket.bufferedBytes <= MAX_BUFFERED_BYTES;
  }

  /** An event, or what announces a snapshot; whoever sends it has looked whether there is room. */
  send(frame: Frame, facts: MessageFacts): void {
    if (this.#ended) return;
    this.#socket.send(frame);
    if (this.#tap.isWatched) this.#tap.outbound(this.#connectionId, frame, facts);
  }

  sendSnapshot(frame: Frame, facts: MessageFacts): void {
    this.#allowance = frameBytes(frame);
    this.send(frame, facts);
  }

  /** Answers the client. That comes even when it is behind, but not without end. */
  reply(frame: Frame, facts: MessageFacts): void {
    if (this.hasRoom) this.#repliesWhileFull = 0;
    else if (++this.#repliesWhileFull > MAX_REPLIES_WHILE_FULL) this.#onStalled("the client does not take the answers to what it says");
    this.send(frame, facts);
  }

  /** Resolves when there is room for a snapshot, with false when the connection ends first. */
  room(): Promise<boolean> {
    if (this.#ended || this.hasRoom) return Promise.resolve(!this.#ended);
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      if (this.#waiting.size > 1) return;
      this.#watchStall(this.#socket.bufferedBytes);
      this.#socket.onceDrained(() => this.#release(true));
    });
  }

  /** The connection is over. */
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
      else this.#onStalled("the client took nothing for 30 s");
    });
  }
}
