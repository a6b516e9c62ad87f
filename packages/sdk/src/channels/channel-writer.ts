import { CallError, type ChannelRef, MAX_FRAME_BYTES } from "@svc/protocol";
import { type ChannelHost, ChannelLink, channelClosed } from "./channel-link.ts";
import type { ChannelItem, ChannelSocket } from "./channel-socket.ts";
import { MAX_BINARY_ITEM_BYTES, MAX_SENDING_BYTES, MAX_WAITING_BYTES, STALL_LIMIT_MS } from "./limits.ts";

/** The ref of a writing end. */
export interface WriteRef extends ChannelRef {
  readonly direction: "write";
}

const encoder = new TextEncoder();
/**
 * As long as the system takes what is sent, a loop of awaited writes would never let anything else of the process run, not even the
 * news that the reader is gone.
 */
const SENDS_BETWEEN_TURNS = 64;

/** Resolves when everything else that is ready in this process has had its turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === "function") setImmediate(resolve);
    else setTimeout(resolve);
  });
}

/**
 * The writing end of a channel. Connects at the first write; until then it may be passed on by putting it into a payload or a
 * result. Writes go out in the order they were made. Once the reader is gone everything rejects with `channel_closed`.
 */
export class ChannelWriter {
  readonly #host: ChannelHost;
  /** What names this end in payloads. Whoever holds it may write the channel, once. */
  readonly ref: WriteRef;
  #made: ChannelLink | undefined;
  /** Resolves when the writes made so far are through; never rejects. */
  #tail: Promise<void> | undefined;
  #waitingBytes = 0;
  #sends = 0;
  #isOver = false;
  /** This side said goodbye first, so a good end is an answer to it. */
  #saidGoodbye = false;
  #wasUsed = false;
  #error: CallError | undefined;
  #opened: Promise<void> | undefined;
  #onOpened: (() => void) | undefined;
  #end: Promise<void> | undefined;
  #stream: WritableStream<ChannelItem> | undefined;

  /** Not for users: handlers receive writers, and `createChannel` and `openChannel` of a worker make them. */
  constructor(host: ChannelHost, ref: WriteRef) {
    this.#host = host;
    this.ref = ref;
  }

  /** Made on demand: every HTTP request brings two ends, and most handlers use neither. */
  get #link(): ChannelLink {
    this.#made ??= new ChannelLink(this.#host, this.ref, {
      opened: () => this.#onOpened?.(),
      ended: (error) => this.#onEnded(error),
    });
    return this.#made;
  }

  /** Not for users: whether the handler did anything with it. */
  get wasUsed(): boolean {
    return this.#wasUsed || this.#stream !== undefined || this.#end !== undefined;
  }

  toJSON(): WriteRef {
    return this.ref;
  }

  /**
   * Writes bytes, split into items of up to 65,536. Resolves when at most 256 KiB of them wait here: whoever awaits each write
   * writes as fast as the reader reads. The bytes must stay as they are until then. Rejects with `channel_closed` when the reader
   * is gone, or takes nothing for 5 minutes, and with `overloaded` when over 64 MiB of earlier writes wait.
   */
  write(bytes: Uint8Array): Promise<void> {
    if (!(bytes instanceof Uint8Array)) return Promise.reject(new TypeError("write takes a Uint8Array; send takes text"));
    return this.#enqueue(bytes.length, async (socket) => {
      for (let at = 0; at === 0 || at < bytes.length; at += MAX_BINARY_ITEM_BYTES) {
        await this.#send(socket, bytes.subarray(at, at + MAX_BINARY_ITEM_BYTES));
      }
    });
  }

  /** Writes one text item of up to 16 MiB. Otherwise as `write`. */
  send(text: string): Promise<void> {
    if (typeof text !== "string") return Promise.reject(new TypeError("send takes text; write takes bytes"));
    const tooLong = text.length > MAX_FRAME_BYTES || (text.length * 3 > MAX_FRAME_BYTES && encoder.encode(text).length > MAX_FRAME_BYTES);
    if (tooLong) {
      const message = `a text item may have up to ${MAX_FRAME_BYTES} bytes; send it in parts`;
      return Promise.reject(new CallError("payload_too_large", message, { details: { limit_bytes: MAX_FRAME_BYTES } }));
    }
    return this.#enqueue(text.length, (socket) => this.#send(socket, text));
  }

  /**
   * Ends the channel: the reader gets what was written, then the end. Resolves when the engine has taken all of it; rejects with
   * `channel_closed` when it did not. A channel that nothing was written to is connected for this, so that its reader learns of
   * the end. Again gives the same promise.
   */
  end(): Promise<void> {
    this.#end ??= this.#finish();
    return this.#end;
  }

  /** Breaks the channel off: its reader gets `channel_closed` instead of an end. A channel that was never connected is left alone. */
  abort(reason = "aborted by its writer"): void {
    this.#link.breakOff(channelClosed(this.ref, reason));
  }

  /** The channel as a web stream that takes bytes and, as items of their own, texts; always the same one. */
  get stream(): WritableStream<ChannelItem> {
    this.#stream ??= new WritableStream<ChannelItem>({
      write: (chunk) => (typeof chunk === "string" ? this.send(chunk) : this.write(chunk)),
      close: () => this.end(),
      abort: () => this.abort(),
    });
    return this.#stream;
  }

  /** Not for users: the call that this end came with was given up. */
  breakOff(error: CallError): void {
    this.#link.breakOff(error);
  }

  #enqueue(bytes: number, work: (socket: ChannelSocket) => Promise<void>): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#isOver) return Promise.reject(new TypeError("the channel was ended; nothing can be written any more"));
    if (this.#waitingBytes > MAX_WAITING_BYTES) {
      const message = `over ${MAX_WAITING_BYTES} bytes of earlier writes wait; await each write`;
      return Promise.reject(new CallError("overloaded", message, { details: { limit_bytes: MAX_WAITING_BYTES } }));
    }
    this.#wasUsed = true;
    this.#waitingBytes += bytes;
    const done = this.#inTurn(async () => {
      try {
        await work(await this.#socket());
      } finally {
        this.#waitingBytes -= bytes;
      }
    });
    return done;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = (this.#tail ?? Promise.resolve()).then(work);
    this.#tail = done.catch(() => {});
    return done;
  }

  async #socket(): Promise<ChannelSocket> {
    this.#opened ??= new Promise((resolve) => {
      this.#onOpened = resolve;
      this.#link.start();
    });
    await this.#opened;
    return this.#requireSocket();
  }

  #requireSocket(): ChannelSocket {
    if (this.#error !== undefined) throw this.#error;
    return this.#link.socket ?? fail(channelClosed(this.ref, "the connection ended"));
  }

  async #send(socket: ChannelSocket, item: ChannelItem): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    socket.send(item);
    if (++this.#sends % SENDS_BETWEEN_TURNS === 0) await turn();
    if (socket.bufferedBytes > MAX_SENDING_BYTES) await this.#drain(socket, MAX_SENDING_BYTES);
  }

  /** Waits until at most so many bytes are buffered. When nothing at all moves for 5 minutes, the channel is broken off. */
  async #drain(socket: ChannelSocket, limitBytes: number): Promise<void> {
    while (socket.bufferedBytes > limitBytes) {
      const before = socket.bufferedBytes;
      let cancelTimer: () => void = () => {};
      const stalled = new Promise<void>((resolve) => {
        cancelTimer = this.#host.clock.after(STALL_LIMIT_MS, resolve);
      });
      await Promise.race([socket.drained(limitBytes), stalled]);
      cancelTimer();
      this.#requireSocket();
      if (socket.bufferedBytes >= before) this.abort(`its reader has taken nothing for ${STALL_LIMIT_MS} ms`);
      this.#requireSocket();
    }
  }

  async #finish(): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    this.#isOver = true;
    await this.#inTurn(async () => {
      const socket = await this.#socket();
      await this.#drain(socket, 0);
      this.#saidGoodbye = socket.isOpen;
      this.#link.close();
      const cancelTimer = this.#host.clock.after(STALL_LIMIT_MS, () => this.abort(`the engine has not taken its end within ${STALL_LIMIT_MS} ms`));
      await this.#link.closed;
      cancelTimer();
    });
    if (this.#error !== undefined) throw this.#error;
  }

  #onEnded(error: CallError | undefined): void {
    // A good end that nobody asked for: the reader parted.
    this.#error = error ?? (this.#saidGoodbye ? undefined : channelClosed(this.ref, "the reader is gone"));
    this.#isOver = true;
    this.#onOpened?.();
  }
}

function fail(error: CallError): never {
  throw error;
}
