import { CallError, type ChannelRef } from "@svc-runtime/protocol/client";
import type { Clock } from "../clock.ts";
import { optionNames } from "../names/option-names.ts";
import { OnDemand, type Part } from "../on-demand.ts";
import type { ChannelHost, ChannelStreams, OpenEnd, ReadRef, WriteRef } from "./channel-host.ts";
import { ChannelReader } from "./channel-reader.ts";
import { isChannelRef } from "./channel-refs.ts";
import { ChannelWriter } from "./channel-writer.ts";

export interface ChannelOptions {
  /** Maximum number of items buffered in the engine between writer and reader, 1 to 1,024. Default 64. */
  readonly bufferItems?: number | undefined;
}

export const channelOptions = optionNames("createChannel", ["bufferItems"]);

/**
 * Both ends of a new channel. An end may be used here, or it may be passed on in a payload or a result and used by its
 * receiver, but not both.
 */
export interface Channel {
  readonly reader: ChannelReader;
  readonly writer: ChannelWriter;
  readonly readerRef: ReadRef;
  readonly writerRef: WriteRef;
}

/** Creates and tracks the channel ends of a worker. */
export class Channels implements ChannelHost {
  readonly clock: Clock;
  readonly #address: () => string;
  readonly #streams: Part<ChannelStreams>;
  readonly #open = new Set<OpenEnd>();
  /**
   * One promise for each end that is loading the part of the SDK that it needs. It resolves when the end's first
   * actions have run.
   */
  readonly #loading = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: {
    /** Returns the engine's address. It may change, because it is that of the current connection. */
    readonly address: () => string;
    readonly streams: Part<ChannelStreams>;
    readonly clock: Clock;
  }) {
    this.#address = options.address;
    this.#streams = options.streams;
    this.clock = options.clock;
  }

  get address(): string {
    return this.#address();
  }

  streamOf<Stream>(create: (streams: ChannelStreams) => Stream): OnDemand<ChannelStreams, Stream> {
    return new OnDemand(this.#streams, create, (loading) => {
      this.#loading.add(loading);
      void loading.then(() => this.#loading.delete(loading));
    });
  }

  refusal(): CallError | undefined {
    return this.#isClosed
      ? new CallError("draining", "the worker was shut down; no channel can be connected any more")
      : undefined;
  }

  track(end: OpenEnd): () => void {
    this.#open.add(end);
    return () => {
      this.#open.delete(end);
    };
  }

  /** Returns both ends of the channel that the engine's result describes. */
  created(answer: unknown): Channel {
    const { reader, writer } = (typeof answer === "object" && answer !== null ? answer : {}) as Readonly<
      Record<string, unknown>
    >;
    const ends = {
      reader: isChannelRef(reader) && this.#endOf(reader),
      writer: isChannelRef(writer) && this.#endOf(writer),
    };
    if (!(ends.reader instanceof ChannelReader && ends.writer instanceof ChannelWriter)) {
      throw new CallError("invalid_message", "the engine's answer to engine::channels::create contains no channel");
    }
    return { reader: ends.reader, writer: ends.writer, readerRef: ends.reader.ref, writerRef: ends.writer.ref };
  }

  /**
   * Returns the end for a reference.
   *
   * @throws TypeError for a value that is not a reference.
   */
  end(ref: ChannelRef): ChannelReader | ChannelWriter {
    if (!isChannelRef(ref))
      throw new TypeError(
        "not the ref of a channel: it must have channel_id, access_key and the direction read or write",
      );
    return this.#endOf(ref);
  }

  #endOf({ channel_id, access_key, direction }: ChannelRef): ChannelReader | ChannelWriter {
    return direction === "read"
      ? new ChannelReader(this, { channel_id, access_key, direction })
      : new ChannelWriter(this, { channel_id, access_key, direction });
  }

  /**
   * Returns one promise for each connected end, which resolves when the end is closed. Also returns the promises of
   * ends that are about to connect.
   */
  ends(): readonly Promise<void>[] {
    return [...[...this.#open].map(({ closed }) => closed), ...this.#loading];
  }

  /** Aborts all connected ends. No end can be connected from now on. */
  close(): void {
    this.#isClosed = true;
    for (const end of [...this.#open])
      end.breakOff(new CallError("channel_closed", "the worker was shut down before the channel ended"));
  }
}
