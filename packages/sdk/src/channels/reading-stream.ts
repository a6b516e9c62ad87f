import { CallError } from "@svc-runtime/protocol/client";
import { checkedOptions, optionNames } from "../names/option-names.ts";
import { ChannelConnection, channelClosed } from "./channel-connection.ts";
import type { ChannelHost, CollectOptions, ReaderStream, ReadRef } from "./channel-host.ts";
import { bytesOf, type ChannelItem, type OpenChannelSocket } from "./channel-socket.ts";
import {
  DEFAULT_COLLECT_MAX_BYTES,
  MAX_UNREAD_BYTES,
  MAX_UNREAD_ITEMS,
  MAX_UNREAD_UNPAUSABLE_BYTES,
} from "./limits.ts";

const collectOptions = optionNames("a channel's reader", ["maxBytes"]);

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The connection of a channel's reader, and its unread items. */
export class ReadingStream implements ReaderStream, AsyncIterable<ChannelItem> {
  readonly #connection: ChannelConnection;
  #items: ChannelItem[] = [];
  /** Number of items at the start of the array that were read. They are removed from the array from time to time. */
  #head = 0;
  #bytes = 0;
  #isPaused = false;
  #ended = false;
  #error: CallError | undefined;
  #wake: (() => void) | undefined;

  constructor(host: ChannelHost, openSocket: OpenChannelSocket, ref: ReadRef) {
    this.#connection = new ChannelConnection(host, openSocket, ref, {
      opened: () => this.#connection.watch(),
      item: (item) => this.#onItem(item),
      ended: (error) => this.#onEnded(error),
    });
  }

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

  async *[Symbol.asyncIterator](): AsyncGenerator<ChannelItem, void, void> {
    try {
      for (let item = await this.read(); item !== undefined; item = await this.read()) yield item;
    } finally {
      this.cancel();
    }
  }

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

  async text(options?: CollectOptions): Promise<string> {
    const bytes = await this.bytes(options);
    try {
      return decoder.decode(bytes);
    } catch (cause) {
      throw new CallError("invalid_input", "the channel's content is not UTF-8", { cause });
    }
  }

  async json<Value = unknown>(options?: CollectOptions): Promise<Value> {
    const text = await this.text(options);
    try {
      return JSON.parse(text) as Value;
    } catch (cause) {
      throw new CallError("invalid_json", `the channel's content is not JSON: ${(cause as Error).message}`, { cause });
    }
  }

  cancel(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#drop();
    this.#connection.close();
    this.#wakeUp();
  }

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
        this.#connection.ref,
        `over ${MAX_UNREAD_UNPAUSABLE_BYTES} bytes are unread, and this platform cannot pause the writer`,
      ),
    );
  }

  #onEnded(error: CallError | undefined): void {
    // After a cancel, it does not matter how the connection ends.
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
