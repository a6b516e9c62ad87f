import { CallError, type ChannelRef } from "@svc/protocol";
import { type ChannelHost, ChannelLink, channelClosed } from "./channel-link.ts";
import type { ChannelItem } from "./channel-socket.ts";
import { DEFAULT_COLLECT_MAX_BYTES, MAX_UNREAD_BYTES, MAX_UNREAD_ITEMS, MAX_UNREAD_UNPAUSABLE_BYTES } from "./limits.ts";

export interface CollectOptions {
  /** Most bytes to collect; more rejects with `payload_too_large`. Default 16 MiB. */
  readonly maxBytes?: number | undefined;
}

/** The ref of a reading end. */
export interface ReadRef extends ChannelRef {
  readonly direction: "read";
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * The reading end of a channel: what the writer wrote, in order, each item once. Connects at the first read, to which a stream of
 * it, `text()` and so on count as well; until then it may be passed on by putting it into a payload or a result.
 *
 * A channel that broke off before its writer ended it rejects with `channel_closed`, after the items that arrived.
 */
export class ChannelReader implements AsyncIterable<ChannelItem> {
  readonly #host: ChannelHost;
  /** What names this end in payloads. Whoever holds it may read the channel, once. */
  readonly ref: ReadRef;
  #made: ChannelLink | undefined;
  #items: ChannelItem[] = [];
  /** Items before this index are read; the array is cut when it is worth it. */
  #head = 0;
  #bytes = 0;
  #isPaused = false;
  #ended = false;
  #error: CallError | undefined;
  #wake: (() => void) | undefined;
  #stream: ReadableStream<Uint8Array> | undefined;

  /** Not for users: handlers receive readers, and `createChannel` and `openChannel` of a worker make them. */
  constructor(host: ChannelHost, ref: ReadRef) {
    this.#host = host;
    this.ref = ref;
  }

  /** Made on demand: every HTTP request brings two ends, and most handlers use neither. */
  get #link(): ChannelLink {
    this.#made ??= new ChannelLink(this.#host, this.ref, {
      opened: () => this.#link.watch(),
      item: (item) => this.#onItem(item),
      ended: (error) => this.#onEnded(error),
    });
    return this.#made;
  }

  toJSON(): ReadRef {
    return this.ref;
  }

  /**
   * The next item: text as it was sent, bytes as frames of up to 64 KiB. Undefined when the writer ended the channel, and after
   * `cancel`. One read at a time: a second one meanwhile rejects with TypeError.
   */
  async read(): Promise<ChannelItem | undefined> {
    if (this.#wake !== undefined) throw new TypeError("a read of this channel is under way");
    if (!this.#ended) this.#link.start();
    for (;;) {
      const item = this.#take();
      if (item !== undefined) return item;
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The items; leaving the loop early cancels the channel. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ChannelItem, void, void> {
    try {
      for (let item = await this.read(); item !== undefined; item = await this.read()) yield item;
    } finally {
      this.cancel();
    }
  }

  /** All of it up to the end as bytes; text items as UTF-8. */
  async bytes(options: CollectOptions = {}): Promise<Uint8Array> {
    const maxBytes = options.maxBytes ?? DEFAULT_COLLECT_MAX_BYTES;
    const pieces: Uint8Array[] = [];
    let total = 0;
    for await (const item of this) {
      const piece = bytesOf(item);
      total += piece.length;
      // Leaving the loop cancels the channel.
      if (total > maxBytes) throw tooLarge(maxBytes);
      pieces.push(piece);
    }
    return joined(pieces, total);
  }

  /** All of it up to the end as text. Bytes that are no UTF-8 reject with `invalid_input`. */
  async text(options?: CollectOptions): Promise<string> {
    const bytes = await this.bytes(options);
    try {
      return decoder.decode(bytes);
    } catch (cause) {
      throw new CallError("invalid_input", "what the channel holds is not UTF-8 text", { cause });
    }
  }

  /** All of it up to the end, read as JSON. What is no JSON rejects with `invalid_json`. */
  async json<Value = unknown>(options?: CollectOptions): Promise<Value> {
    const text = await this.text(options);
    try {
      return JSON.parse(text) as Value;
    } catch (cause) {
      throw new CallError("invalid_json", `what the channel holds is not JSON: ${(cause as Error).message}`, { cause });
    }
  }

  /**
   * The channel as a web stream of bytes, text items as UTF-8; always the same one. A stream of Node's own is
   * `Readable.from(reader)`.
   */
  get stream(): ReadableStream<Uint8Array> {
    this.#stream ??= new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const item = await this.read();
          if (item === undefined) controller.close();
          else controller.enqueue(bytesOf(item));
        },
        cancel: () => this.cancel(),
      },
      { highWaterMark: 0 },
    );
    return this.#stream;
  }

  /** Reads no more: what waits is dropped, and the writer is told. A channel that was never connected is left alone. */
  cancel(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#drop();
    this.#made?.close();
    this.#wakeUp();
  }

  /** Not for users: the call that this end came with was given up. */
  breakOff(error: CallError): void {
    this.#link.breakOff(error);
  }

  #take(): ChannelItem | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head++;
    this.#bytes -= item.length;
    if (this.#head === this.#items.length) this.#cut();
    if (this.#isPaused && this.#bytes <= MAX_UNREAD_BYTES / 2 && this.#items.length - this.#head <= MAX_UNREAD_ITEMS / 2) {
      this.#isPaused = false;
      this.#link.resume();
    }
    return item;
  }

  #cut(): void {
    this.#items = [];
    this.#head = 0;
  }

  #drop(): void {
    this.#cut();
    this.#bytes = 0;
  }

  #onItem(item: ChannelItem): void {
    if (this.#ended) return;
    this.#items.push(item);
    this.#bytes += item.length;
    if (this.#bytes > MAX_UNREAD_BYTES || this.#items.length - this.#head > MAX_UNREAD_ITEMS) this.#holdBack();
    this.#wakeUp();
  }

  #holdBack(): void {
    if (this.#isPaused) return;
    this.#isPaused = this.#link.pause();
    if (this.#isPaused || this.#bytes <= MAX_UNREAD_UNPAUSABLE_BYTES) return;
    this.#link.breakOff(channelClosed(this.ref, `over ${MAX_UNREAD_UNPAUSABLE_BYTES} bytes were left unread, and this platform cannot hold the writer back`));
  }

  #onEnded(error: CallError | undefined): void {
    // After a cancel nobody wants to know how it ended.
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#wakeUp();
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

function bytesOf(item: ChannelItem): Uint8Array {
  return typeof item === "string" ? encoder.encode(item) : item;
}

function joined(pieces: readonly Uint8Array[], total: number): Uint8Array {
  const all = new Uint8Array(total);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

function tooLarge(maxBytes: number): CallError {
  return new CallError("payload_too_large", `the channel holds over ${maxBytes} bytes, the limit of this read`, { details: { limit_bytes: maxBytes } });
}
