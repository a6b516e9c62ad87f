import { CallError, type ChannelRef } from "@svc-runtime/protocol";
import { checkedOptions, optionNames } from "../names/option-names.ts";
import { ChannelConnection, type ChannelHost, channelClosed } from "./channel-connection.ts";
import type { ChannelItem } from "./channel-socket.ts";
import {
  DEFAULT_COLLECT_MAX_BYTES,
  MAX_UNREAD_BYTES,
  MAX_UNREAD_ITEMS,
  MAX_UNREAD_UNPAUSABLE_BYTES,
} from "./limits.ts";

export interface CollectOptions {
  /** Maximum number of bytes. More reject with `payload_too_large`. Default 16 MiB. */
  readonly maxBytes?: number | undefined;
}

const collectOptions = optionNames("a channel's reader", ["maxBytes"]);

/** The ref of a reader. */
export interface ReadRef extends ChannelRef {
  readonly direction: "read";
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * The reader of a channel: receives the writer's items in order, each once. Connects at the first read, which includes
 * a read of `stream`, `text()` and so on. Until then it may be passed on in a payload or a result.
 *
 * If the channel fails before its writer ended it, reads reject with `channel_closed`, after the items that arrived.
 */
export class ChannelReader implements AsyncIterable<ChannelItem> {
  readonly #host: ChannelHost;
  /** Identifies this end in payloads. Its owner may read the channel, once. */
  readonly ref: ReadRef;
  #lazyConnection: ChannelConnection | undefined;
  #items: ChannelItem[] = [];
  /** Items before this index are read. The array is truncated from time to time. */
  #head = 0;
  #bytes = 0;
  #isPaused = false;
  #ended = false;
  #error: CallError | undefined;
  #wake: (() => void) | undefined;
  #stream: ReadableStream<Uint8Array> | undefined;

  /** Internal: handlers receive readers, and `createChannel` and `openChannel` of a worker create them. */
  constructor(host: ChannelHost, ref: ReadRef) {
    this.#host = host;
    this.ref = ref;
  }

  /** Created at first use: every HTTP request has two ends, and most handlers use neither. */
  get #connection(): ChannelConnection {
    this.#lazyConnection ??= new ChannelConnection(this.#host, this.ref, {
      opened: () => this.#connection.watch(),
      item: (item) => this.#onItem(item),
      ended: (error) => this.#onEnded(error),
    });
    return this.#lazyConnection;
  }

  toJSON(): ReadRef {
    return this.ref;
  }

  /**
   * Returns the next item: strings as sent, bytes as frames of up to 64 KiB. Undefined after the writer ended the
   * channel, and after `cancel`. Only one read at a time: a concurrent read rejects with TypeError.
   */
  async read(): Promise<ChannelItem | undefined> {
    if (this.#wake !== undefined) throw new TypeError("another read of this channel is in progress");
    if (!this.#ended) this.#connection.start();
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

  /** Yields the items. Leaving the loop early cancels the channel. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ChannelItem, void, void> {
    try {
      for (let item = await this.read(); item !== undefined; item = await this.read()) yield item;
    } finally {
      this.cancel();
    }
  }

  /** Reads to the end and returns bytes. Strings are encoded as UTF-8. */
  async bytes(options: CollectOptions = {}): Promise<Uint8Array> {
    const { maxBytes = DEFAULT_COLLECT_MAX_BYTES } = checkedOptions(options, collectOptions);
    const pieces: Uint8Array[] = [];
    let total = 0;
    for await (const item of this) {
      const piece = bytesOf(item);
      total += piece.length;
      // Throwing leaves the loop, which cancels the channel.
      if (total > maxBytes) throw tooLarge(maxBytes);
      pieces.push(piece);
    }
    return joined(pieces, total);
  }

  /** Reads to the end and returns a string. Rejects with `invalid_input` if the bytes are not UTF-8. */
  async text(options?: CollectOptions): Promise<string> {
    const bytes = await this.bytes(options);
    try {
      return decoder.decode(bytes);
    } catch (cause) {
      throw new CallError("invalid_input", "the channel's content is not UTF-8", { cause });
    }
  }

  /** Reads to the end and parses JSON. Rejects with `invalid_json` if it is not JSON. */
  async json<Value = unknown>(options?: CollectOptions): Promise<Value> {
    const text = await this.text(options);
    try {
      return JSON.parse(text) as Value;
    } catch (cause) {
      throw new CallError("invalid_json", `the channel's content is not JSON: ${(cause as Error).message}`, { cause });
    }
  }

  /**
   * The channel as a web stream of bytes, with strings as UTF-8. Always the same object. For a Node stream use
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

  /**
   * Stops reading: unread items are dropped and the writer is notified. Has no effect on a channel that was never
   * connected.
   */
  cancel(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#drop();
    this.#lazyConnection?.close();
    this.#wakeUp();
  }

  /** Internal: the call that this end came with was cancelled. */
  breakOff(error: CallError): void {
    this.#connection.breakOff(error);
  }

  #take(): ChannelItem | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head++;
    this.#bytes -= item.length;
    if (this.#head === this.#items.length) this.#cut();
    if (
      this.#isPaused &&
      this.#bytes <= MAX_UNREAD_BYTES / 2 &&
      this.#items.length - this.#head <= MAX_UNREAD_ITEMS / 2
    ) {
      this.#isPaused = false;
      this.#connection.resume();
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
    if (this.#bytes > MAX_UNREAD_BYTES || this.#items.length - this.#head > MAX_UNREAD_ITEMS) this.#applyBackpressure();
    this.#wakeUp();
  }

  #applyBackpressure(): void {
    if (this.#isPaused) return;
    this.#isPaused = this.#connection.pause();
    if (this.#isPaused || this.#bytes <= MAX_UNREAD_UNPAUSABLE_BYTES) return;
    this.#connection.breakOff(
      channelClosed(
        this.ref,
        `over ${MAX_UNREAD_UNPAUSABLE_BYTES} bytes are unread, and this platform cannot pause the writer`,
      ),
    );
  }

  #onEnded(error: CallError | undefined): void {
    // After a cancel the end is of no interest.
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
  return new CallError("payload_too_large", `the channel contains over ${maxBytes} bytes, the limit of this read`, {
    details: { limit_bytes: maxBytes },
  });
}
