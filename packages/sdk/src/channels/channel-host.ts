import type { CallError, ChannelRef } from "@svc-runtime/protocol/client";
import type { Clock } from "../clock.ts";
import type { OnDemand } from "../on-demand.ts";
import type { ChannelItem } from "./channel-socket.ts";

/** Reference to a reader. */
export interface ReadRef extends ChannelRef {
  readonly direction: "read";
}

/** Reference to a writer. */
export interface WriteRef extends ChannelRef {
  readonly direction: "write";
}

export interface CollectOptions {
  /** Maximum number of bytes. If there are more, the method rejects with `payload_too_large`. Default 16 MiB. */
  readonly maxBytes?: number | undefined;
}

/** The members of a connected end that the worker uses. */
export interface OpenEnd {
  readonly closed: Promise<void>;
  breakOff(error: CallError): void;
}

/** The services of the worker that channel ends use. */
export interface ChannelHost {
  /** The engine's address, as given to `connect`. */
  readonly address: string;
  readonly clock: Clock;
  /** Returns the stream of an end. It is created when it is first used. */
  streamOf<Stream>(create: (streams: ChannelStreams) => Stream): OnDemand<ChannelStreams, Stream>;
  /** Returns the reason why no more ends may be connected. Returns undefined if they may. */
  refusal(): CallError | undefined;
  /**
   * Tracks a connected end until the returned function is called. When the worker shuts down, it aborts the ends that
   * are still tracked.
   */
  track(end: OpenEnd): () => void;
}

/** A reader's connection and its unread items. The methods are those of the reader. */
export interface ReaderStream {
  read(): Promise<ChannelItem | undefined>;
  bytes(options: CollectOptions | undefined): Promise<Uint8Array>;
  text(options: CollectOptions | undefined): Promise<string>;
  json<Value>(options: CollectOptions | undefined): Promise<Value>;
  cancel(): void;
  breakOff(error: CallError): void;
}

/** A writer's connection and its unfinished writes. The methods are those of the writer. */
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
