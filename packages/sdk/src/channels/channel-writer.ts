import type { CallError } from "@svc-runtime/protocol/client";
import type { OnDemand } from "../on-demand.ts";
import type { ChannelHost, ChannelStreams, WriteRef, WriterStream } from "./channel-host.ts";
import type { ChannelItem } from "./channel-socket.ts";
import { MAX_WAITING_BYTES, tooMuchUnsent } from "./waiting-writes.ts";

/**
 * The writer of a channel. Connects at the first write. Until then it may be passed on in a payload or a result. Writes
 * are sent in the order they were made. After the reader has disconnected everything rejects with `channel_closed`.
 */
export class ChannelWriter {
  /** Identifies this end in payloads. Its owner may write the channel, once. */
  readonly ref: WriteRef;
  /** Created at first use: every HTTP request has two ends, and most handlers use neither. */
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

  /** Internal: whether the handler used it. */
  get wasUsed(): boolean {
    return this.#wasUsed || this.#stream !== undefined;
  }

  toJSON(): WriteRef {
    return this.ref;
  }

  /**
   * Writes bytes, split into items of up to 65,536 bytes. Resolves when at most 256 KiB of them are unsent, so a caller
   * that awaits each write is as fast as the reader. Do not change the bytes before. Rejects with `channel_closed` if
   * the reader disconnected or accepts nothing for 5 minutes, and with `overloaded` if over 64 MiB of earlier writes
   * are unsent.
   */
  write(bytes: Uint8Array): Promise<void> {
    if (!(bytes instanceof Uint8Array))
      return Promise.reject(new TypeError("write takes a Uint8Array; send takes a string"));
    return this.#use((stream) => stream.write(bytes), bytes.length);
  }

  /** Writes one string item of up to 16 MiB. Otherwise as `write`. */
  send(text: string): Promise<void> {
    if (typeof text !== "string") return Promise.reject(new TypeError("send takes a string; write takes bytes"));
    return this.#use((stream) => stream.send(text), text.length);
  }

  /**
   * Ends the channel: the reader receives what was written, then the end. Resolves when the engine has accepted
   * everything. Rejects with `channel_closed` if it did not. Connects an unused channel, so that its reader receives
   * the end. Further calls return the same promise.
   */
  end(): Promise<void> {
    this.#end ??= this.#use((stream) => stream.end(), 0);
    return this.#end;
  }

  /**
   * Aborts the channel: its reader fails with `channel_closed` instead of a normal end. Has no effect on a channel that
   * was never connected.
   */
  abort(reason = "aborted by its writer"): void {
    this.#writing.whenCreated((stream) => stream.abort(reason));
  }

  /** The channel as a web stream of bytes and strings, each string as one item. Always the same object. */
  get stream(): WritableStream<ChannelItem> {
    this.#stream ??= new WritableStream<ChannelItem>({
      write: (chunk) => (typeof chunk === "string" ? this.send(chunk) : this.write(chunk)),
      close: () => this.end(),
      abort: () => this.abort(),
    });
    return this.#stream;
  }

  /** Internal: the call that this end came with was cancelled. */
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
