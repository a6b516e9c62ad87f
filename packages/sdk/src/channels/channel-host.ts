import type { CallError, ChannelRef } from "@svc-runtime/protocol/client";
import type { Clock } from "../clock.ts";
import type { OnDemand } from "../on-demand.ts";
import type { ChannelItem } from "./channel-socket.ts";

/** The ref of a reader. */
export interface ReadRef extends ChannelRef {
  readonly direction: "read";
}

/** The ref of a writer. */
export interface WriteRef extends ChannelRef {
  readonly direction: "write";
}

export interface CollectOptions {
  /** Maximum number of bytes. More reject with `payload_too_large`. Default 16 MiB. */
  readonly maxBytes?: number | undefined;
}

/** The worker's view of a connected end. */
export interface OpenEnd {
  readonly closed: Promise<void>;
  breakOff(error: CallError): void;
}

/** The services of the worker that channel ends use. */
export interface ChannelHost {
  /** The engine's address, as given to `connect`. */
  readonly address: string;
  readonly clock: Clock;
  /** Returns the stream of an end, which is created at its first use. */
  streamOf<Stream>(create: (streams: ChannelStreams) => Stream): OnDemand<ChannelStreams, Stream>;
  /** Returns why no end may be connected any more, or undefined. */
  refusal(): CallError | undefined;
  /**
   * Tracks a connected end until the returned function is called. The shutdown of the worker aborts the remaining ends.
   */
  track(end: OpenEnd): () => void;
}

/** A reader's connection and the items that were not read yet. The methods are those of the reader. */
export interface ReaderStream {
  read(): Promise<ChannelItem | undefined>;
  bytes(options: CollectOptions | undefined): Promise<Uint8Array>;
  text(options: CollectOptions | undefined): Promise<string>;
  json<Value>(options: CollectOptions | undefined): Promise<Value>;
  cancel(): void;
  breakOff(error: CallError): void;
}

/** A writer's connection and the writes that are not done yet. The methods are those of the writer. */
export interface WriterStream {
  write(bytes: Uint8Array): Promise<void>;
  send(text: string): Promise<void>;
  end(): Promise<void>;
  abort(reason: string): void;
  breakOff(error: CallError): void;
}

/** The part of the SDK with the streams of channels. */
export interface ChannelStreams {
  reader(host: ChannelHost, ref: ReadRef): ReaderStream;
  writer(host: ChannelHost, ref: WriteRef): WriterStream;
}
