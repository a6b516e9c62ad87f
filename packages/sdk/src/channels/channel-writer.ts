import type { CallError } from "@svc-runtime/protocol/client";
import type { OnDemand } from "../on-demand.ts";
import type { ChannelHost, ChannelStreams, WriteRef, WriterStream } from "./channel-host.ts";
import type { ChannelItem } from "./channel-socket.ts";
import { MAX_WAITING_BYTES, tooMuchUnsent } from "./waiting-writes.ts";

/**
 * The writer of a channel. It connects at the first write. Before that, it may be passed on in a payload or a result.
 * Items are sent in the order in which they are written. After the reader has disconnected, all methods reject with
 * `channel_closed`.
 */
export class ChannelWriter {
  /** Identifies this end in payloads. A worker that has it may write to the channel, once. */
  readonly ref: WriteRef;
  /** Created when it is first used, because every HTTP request has two ends and most handlers use neither. */
  readonly #writing: OnDemand<ChannelStreams, WriterStream>;
  #wasUsed = false;
  /** Bytes of writes that were made before the stream existed. */
  #earlyBytes = 0;
  #end: Promise<void> | undefined;
  #stream: WritableStream<ChannelItem> | undefined;

  /** Internal: handlers receive writers, and `createChannel` and `openChannel` of a worker create them. */
  constructor(host: ChannelHost, ref: WriteRef) {
    this.ref = ref;
    this.#writing = host.streamOf(({ writer }) => writer(host, ref));
  }

  /** Internal: true if the handler used the writer. */
  get wasUsed(): boolean {
    return this.#wasUsed || this.#stream !== undefined;
  }

  toJSON(): WriteRef {
    return this.ref;
  }

  /**
   * Writes bytes, split into items of up to 65,536 bytes. Resolves when at most 256 KiB are unsent, so a caller that
   * awaits each write is as fast as the reader. Do not change the bytes before it resolves. Rejects with
   * `channel_closed` if the reader disconnected or accepts nothing for 5 minutes. Rejects with `overloaded` if over 64
   * MiB of earlier writes are unsent.
   */
  write(bytes: Uint8Array): Promise<void> {
    if (!(bytes instanceof Uint8Array))
      return Promise.reject(new TypeError("write takes a Uint8Array; send takes a string"));
    return this.#use((stream) => stream.write(bytes), bytes.length);
  }

  /** Writes one string item of up to 16 MiB. In all other respects, it is like `write`. */
  send(text: string): Promise<void> {
    if (typeof text !== "string") return Promise.reject(new TypeError("send takes a string; write takes bytes"));
    return this.#use((stream) => stream.send(text), text.length);
  }

  /**
   * Ends the channel. The reader receives the written items, then the end. Resolves when the engine has accepted all of
   * them; rejects with `channel_closed` if it did not. If the writer was not used before, it connects now, so that its
   * reader receives the end. Further calls return the same promise.
   */
  end(): Promise<void> {
    this.#end ??= this.#use((stream) => stream.end(), 0);
    return this.#end;
  }

  /**
   * Aborts the channel. Its reader fails with `channel_closed` instead of a normal end. If the channel was never
   * connected, this has no effect.
   */
  abort(reason = "aborted by its writer"): void {
    this.#writing.whenCreated((stream) => stream.abort(reason));
  }

  /** The channel as a web stream of bytes and strings. Each string is one item. It is always the same object. */
  get stream(): WritableStream<ChannelItem> {
    this.#stream ??= new WritableStream<ChannelItem>({
      write: (chunk) => (typeof chunk === "string" ? this.send(chunk) : this.write(chunk)),
      close: () => this.end(),
      abort: () => this.abort(),
    });
    return this.#stream;
  }

  /** Internal: called when the call in whose payload this end arrived was cancelled. */
  breakOff(error: CallError): void {
    this.#writing.whenCreated((stream) => stream.breakOff(error));
  }

  #use(action: (stream: WriterStream) => Promise<void>, bytes: number): Promise<void> {
    if (this.#writing.value === undefined) {
      if (this.#earlyBytes > MAX_WAITING_BYTES) return Promise.reject(tooMuchUnsent());
      this.#earlyBytes += bytes;
    }
    this.#wasUsed = true;
    return this.#writing.use(action);
  }
}
