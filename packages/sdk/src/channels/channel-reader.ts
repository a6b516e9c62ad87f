import type { CallError } from "@svc-runtime/protocol/client";
import type { OnDemand } from "../on-demand.ts";
import type { ChannelHost, ChannelStreams, CollectOptions, ReaderStream, ReadRef } from "./channel-host.ts";
import { bytesOf, type ChannelItem } from "./channel-socket.ts";

/**
 * The reader of a channel. It receives the writer's items in order, each once. It connects at the first read, which may
 * also be a read of `stream`, `text()` and so on. Before that, it may be passed on in a payload or a result.
 *
 * If the channel fails before its writer has ended it, reads first return the items that arrived, and then reject with
 * `channel_closed`.
 */
export class ChannelReader implements AsyncIterable<ChannelItem> {
  /** Identifies this end in payloads. A worker that has it may read the channel, once. */
  readonly ref: ReadRef;
  /** Created when it is first used, because every HTTP request has two ends and most handlers use neither. */
  readonly #reading: OnDemand<ChannelStreams, ReaderStream>;
  #stream: ReadableStream<Uint8Array> | undefined;

  /** Internal: handlers receive readers, and `createChannel` and `openChannel` of a worker create them. */
  constructor(host: ChannelHost, ref: ReadRef) {
    this.ref = ref;
    this.#reading = host.streamOf(({ reader }) => reader(host, ref));
  }

  toJSON(): ReadRef {
    return this.ref;
  }

  /**
   * Returns the next item: a string as it was sent, or bytes in frames of up to 64 KiB. Returns undefined after the
   * writer has ended the channel, and after `cancel`. Only one read may be in progress. A concurrent read rejects with
   * TypeError.
   */
  read(): Promise<ChannelItem | undefined> {
    return this.#reading.use((stream) => stream.read());
  }

  /** Yields the items. Leaving the loop early cancels the channel. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ChannelItem, void, void> {
    try {
      for (let item = await this.read(); item !== undefined; item = await this.read()) yield item;
    } finally {
      this.cancel();
    }
  }

  /** Reads up to the end and returns bytes. Strings are encoded as UTF-8. */
  bytes(options?: CollectOptions): Promise<Uint8Array> {
    return this.#reading.use((stream) => stream.bytes(options));
  }

  /** Reads up to the end and returns a string. Rejects with `invalid_input` if the bytes are not UTF-8. */
  text(options?: CollectOptions): Promise<string> {
    return this.#reading.use((stream) => stream.text(options));
  }

  /** Reads up to the end and parses JSON. Rejects with `invalid_json` if the content is not JSON. */
  json<Value = unknown>(options?: CollectOptions): Promise<Value> {
    return this.#reading.use((stream) => stream.json<Value>(options));
  }

  /**
   * The channel as a web stream of bytes. Strings are encoded as UTF-8. It is always the same object. To get a Node
   * stream, use `Readable.from(reader)`.
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
   * Stops reading. Unread items are dropped and the writer is notified. If the channel was never connected, this has no
   * effect.
   */
  cancel(): void {
    this.#reading.whenCreated((stream) => stream.cancel());
  }

  /** Internal: called when the call in whose payload this end arrived was cancelled. */
  breakOff(error: CallError): void {
    this.#reading.whenCreated((stream) => stream.breakOff(error));
  }
}
