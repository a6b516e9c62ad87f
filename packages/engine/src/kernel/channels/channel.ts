import { timingSafeEqual } from "node:crypto";
import type { ChannelRef } from "@svc/protocol";
import type { ChannelItem } from "../module.ts";

/** `finished`: the writer ended it and nothing will be missing. `torn`: it broke off, and what was read is not the whole. */
export type ChannelState = "open" | "finished" | "torn";

/** What all channels together hold, and so how much each may. */
export interface ByteBudget {
  /** Bytes that wait in all channels. */
  waiting: number;
  /** Bytes that may wait in one channel; one item more is always taken, so that an item of any allowed size passes. */
  readonly perChannel: number;
}

/** What a reader hears of its channel. */
export interface ReaderSide {
  /** There may be something to take, or the state changed. */
  onChange(): void;
}

/** What a writer hears of its channel. */
export interface WriterSide {
  /** There is room again. */
  onRoom(): void;
  /** The reader is gone, or the channel was taken down; nothing more will be taken. */
  onGone(reason: string): void;
}

/**
 * One stream of items from one writer to one reader, in order and bounded: a writer is asked to hold back while too much waits.
 * Each end is taken at most once. Knows neither sockets nor time.
 */
export class Channel {
  readonly id: string;
  readonly createdAtMs: number;
  readonly #key: string;
  readonly #maxItems: number;
  readonly #budget: ByteBudget;
  readonly #onOver: (channel: Channel) => void;
  #items: ChannelItem[] = [];
  /** Items before this index are taken; the array is cut when it is worth it. */
  #head = 0;
  #bytes = 0;
  #state: ChannelState = "open";
  #reason = "";
  #reader: ReaderSide | "left" | undefined;
  #writer: WriterSide | "left" | undefined;
  #writerWaits = false;
  #over = false;

  /** `onOver` is called once, when nothing more can happen. */
  constructor(options: {
    readonly id: string;
    readonly key: string;
    readonly createdAtMs: number;
    /** Items that may wait. */
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

  /** Why it is torn; empty otherwise. */
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
    return isSameKey(key, this.#key);
  }

  /** False when someone took this end before. */
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

  // The writer's verbs.

  /** Adds an item. Answers whether there is room for the next one; when not, `onRoom` will say when there is. */
  push(item: ChannelItem): boolean {
    if (this.#state !== "open") return true;
    this.#items.push(item);
    this.#count(sizeOf(item));
    this.#tellReader();
    this.#writerWaits = this.isFull;
    return !this.#writerWaits;
  }

  get isFull(): boolean {
    return this.#items.length - this.#head >= this.#maxItems || this.#bytes >= this.#budget.perChannel;
  }

  /** The writer has said all it had to say. */
  finish(): void {
    this.#writer = "left";
    this.#settle("finished", "");
  }

  /** The writer broke off. What it wrote before can still be read. */
  tear(reason: string): void {
    this.#writer = "left";
    this.#settle("torn", reason);
  }

  // The reader's verbs.

  /** The oldest item, or undefined when none waits (then look at `state`). */
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

  /** The reader wants no more: what waits is dropped and the writer is told. */
  leave(reason: string): void {
    this.#reader = "left";
    this.#drop();
    this.#settle("torn", reason);
    this.#endIfDone();
  }

  /** Takes the channel down, whatever its ends are doing. */
  destroy(reason: string): void {
    this.#drop();
    this.#settle("torn", reason);
    this.#reader ??= "left";
    this.#writer ??= "left";
    this.#endIfDone();
  }

  #settle(state: "finished" | "torn", reason: string): void {
    if (this.#state !== "open") return;
    this.#state = state;
    this.#reason = reason;
    this.#tellReader();
    if (typeof this.#writer === "object") {
      const writer = this.#writer;
      this.#writer = "left";
      writer.onGone(reason);
    }
    this.#endIfDone();
  }

  #tellReader(): void {
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
    // An untaken reader may still come for what a finished writer left; the sweep of the table puts an end to that.
    if (this.#over || this.#state === "open" || !this.isEmpty || this.#reader === undefined) return;
    this.#over = true;
    this.#onOver(this);
  }
}

/** Compares in a time that does not tell how much of a guess was right. */
export function isSameKey(given: string, own: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(own)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function sizeOf(item: ChannelItem): number {
  return item.kind === "binary" ? item.bytes.length : item.text.length;
}
