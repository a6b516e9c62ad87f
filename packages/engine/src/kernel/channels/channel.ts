import { timingSafeEqual } from "node:crypto";
import type { ChannelRef } from "@svc-runtime/protocol";
import type { ChannelItem } from "../module.ts";

/** `finished`: the writer ended the stream and all of it can be read. `aborted`: the stream is incomplete. */
export type ChannelState = "open" | "finished" | "aborted";

/** Number of bytes in all channels together, and the limit per channel that follows from it. */
export interface ByteBudget {
  /** Bytes that wait in all channels together. */
  waiting: number;
  /**
   * Maximum bytes that wait in one channel. A channel below the limit accepts one more item of any allowed size, so it
   * may exceed the limit by one item.
   */
  readonly perChannel: number;
}

/** Callbacks for a channel's reader. */
export interface ReaderSide {
  /** An item may be available, or the state changed. */
  onChange(): void;
}

/** Callbacks for a channel's writer. */
export interface WriterSide {
  /** There is room for items again. */
  onRoom(): void;
  /** The reader left or the channel was destroyed; no more items are accepted. */
  onGone(reason: string): void;
}

/**
 * An ordered, bounded stream of items from one writer to one reader, with backpressure. Each end can be taken once. Has
 * no dependency on sockets or time.
 */
export class Channel {
  readonly id: string;
  readonly createdAtMs: number;
  readonly #key: string;
  readonly #maxItems: number;
  readonly #budget: ByteBudget;
  readonly #onOver: (channel: Channel) => void;
  #items: ChannelItem[] = [];
  /** Items before this index are taken. The array is trimmed from time to time. */
  #head = 0;
  #bytes = 0;
  #state: ChannelState = "open";
  #reason = "";
  #reader: ReaderSide | "left" | undefined;
  #writer: WriterSide | "left" | undefined;
  #writerWaits = false;
  #over = false;

  /** `onOver` is called once, when the channel can no longer change. */
  constructor(options: {
    readonly id: string;
    readonly key: string;
    readonly createdAtMs: number;
    /** Maximum number of waiting items. */
    readonly maxItems: number;
    readonly budget: ByteBudget;
    readonly onOver: (channel: Channel) => void;
  }) {
    this.id = options.id;
    this.#key = options.key;
    this.createdAtMs = options.createdAtMs;
    this.#maxItems = options.maxItems;
    this.#budget = options.budget;
    this.#onOver = options.onOver;
  }

  get state(): ChannelState {
    return this.#state;
  }

  /** Why the channel was aborted; empty otherwise. */
  get reason(): string {
    return this.#reason;
  }

  get isEmpty(): boolean {
    return this.#head === this.#items.length;
  }

  get readerIsTaken(): boolean {
    return this.#reader !== undefined;
  }

  get writerIsTaken(): boolean {
    return this.#writer !== undefined;
  }

  ref(direction: ChannelRef["direction"]): ChannelRef {
    return { channel_id: this.id, access_key: this.#key, direction };
  }

  opensWith(key: string): boolean {
    return isSameSecret(key, this.#key);
  }

  /** Returns false if this end is already taken. */
  takeReader(side: ReaderSide): boolean {
    if (this.#reader !== undefined) return false;
    this.#reader = side;
    return true;
  }

  takeWriter(side: WriterSide): boolean {
    if (this.#writer !== undefined) return false;
    this.#writer = side;
    return true;
  }

  // Methods for the writer.

  /** Adds an item. Returns whether there is room for another one. If not, `onRoom` is called when there is. */
  push(item: ChannelItem): boolean {
    if (this.#state !== "open") return true;
    this.#items.push(item);
    this.#count(sizeOf(item));
    this.#notifyReader();
    this.#writerWaits = this.isFull;
    return !this.#writerWaits;
  }

  get isFull(): boolean {
    return this.#items.length - this.#head >= this.#maxItems || this.#bytes >= this.#budget.perChannel;
  }

  /** Ends the stream: the writer has written everything. */
  finish(): void {
    this.#writer = "left";
    this.#settle("finished", "");
  }

  /** Aborts the stream: the writer disconnected early. Items written before can still be read. */
  abort(reason: string): void {
    this.#writer = "left";
    this.#settle("aborted", reason);
  }

  // Methods for the reader.

  /** Returns the oldest item, or undefined if none waits; `state` then says whether more can come. */
  take(): ChannelItem | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head++;
    this.#count(-sizeOf(item));
    if (this.#head === this.#items.length) {
      this.#items.length = 0;
      this.#head = 0;
    } else if (this.#head >= 1024) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    if (this.#writerWaits && !this.isFull) {
      this.#writerWaits = false;
      if (typeof this.#writer === "object") this.#writer.onRoom();
    }
    if (this.isEmpty) this.#endIfDone();
    return item;
  }

  /** The reader leaves: waiting items are dropped and the writer is notified. */
  leave(reason: string): void {
    this.#reader = "left";
    this.#drop();
    this.#settle("aborted", reason);
    this.#endIfDone();
  }

  /** Destroys the channel in any state. */
  destroy(reason: string): void {
    this.#drop();
    this.#settle("aborted", reason);
    this.#reader ??= "left";
    this.#writer ??= "left";
    this.#endIfDone();
  }

  #settle(state: "finished" | "aborted", reason: string): void {
    if (this.#state !== "open") return;
    this.#state = state;
    this.#reason = reason;
    this.#notifyReader();
    if (typeof this.#writer === "object") {
      const writer = this.#writer;
      this.#writer = "left";
      writer.onGone(reason);
    }
    this.#endIfDone();
  }

  #notifyReader(): void {
    if (typeof this.#reader === "object") this.#reader.onChange();
  }

  #drop(): void {
    this.#items = [];
    this.#head = 0;
    this.#count(-this.#bytes);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#budget.waiting += bytes;
  }

  #endIfDone(): void {
    // Without a reader the channel is not over: a reader may still take the items that a finished writer left. If no
    // reader comes, `Channels` destroys the channel after some minutes.
    if (this.#over || this.#state === "open" || !this.isEmpty || this.#reader === undefined) return;
    this.#over = true;
    this.#onOver(this);
  }
}

/** Compares in constant time, so that the duration does not reveal how much of a guess was right. */
export function isSameSecret(given: string, own: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(own)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function sizeOf(item: ChannelItem): number {
  return item.kind === "binary" ? item.bytes.length : item.text.length;
}
