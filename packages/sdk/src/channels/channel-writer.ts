import { CallError, type ChannelRef, MAX_FRAME_BYTES } from "@svc-runtime/protocol";
import { ChannelConnection, type ChannelHost, channelClosed } from "./channel-connection.ts";
import type { ChannelItem, ChannelSocket } from "./channel-socket.ts";
import { MAX_BINARY_ITEM_BYTES, MAX_SENDING_BYTES, MAX_WAITING_BYTES, STALL_LIMIT_MS } from "./limits.ts";

/** The ref of a writer. */
export interface WriteRef extends ChannelRef {
  readonly direction: "write";
}

const encoder = new TextEncoder();
/**
 * Number of sends between two yields to the event loop. While the system accepts data at once, a loop of awaited writes
 * would never let anything else run, not even the event that the reader disconnected.
 */
const SENDS_BETWEEN_YIELDS = 64;

/** Resolves after all other ready tasks of this process have run. */
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === "function") setImmediate(resolve);
    else setTimeout(resolve);
  });
}

/**
 * The writer of a channel. Connects at the first write. Until then it may be passed on in a payload or a result. Writes
 * are sent in the order they were made. After the reader has disconnected everything rejects with `channel_closed`.
 */
export class ChannelWriter {
  readonly #host: ChannelHost;
  /** Identifies this end in payloads. Its owner may write the channel, once. */
  readonly ref: WriteRef;
  #lazyConnection: ChannelConnection | undefined;
  /** Resolves when the writes made so far are done. Never rejects. */
  #tail: Promise<void> | undefined;
  #waitingBytes = 0;
  #sends = 0;
  #isOver = false;
  /** Whether this side closed first, so that a normal end is the answer to it. */
  #hasClosed = false;
  #wasUsed = false;
  #error: CallError | undefined;
  #opened: Promise<void> | undefined;
  #onOpened: (() => void) | undefined;
  #end: Promise<void> | undefined;
  #stream: WritableStream<ChannelItem> | undefined;

  /** Internal: handlers receive writers, and `createChannel` and `openChannel` of a worker create them. */
  constructor(host: ChannelHost, ref: WriteRef) {
    this.#host = host;
    this.ref = ref;
  }

  /** Created at first use: every HTTP request has two ends, and most handlers use neither. */
  get #connection(): ChannelConnection {
    this.#lazyConnection ??= new ChannelConnection(this.#host, this.ref, {
      opened: () => this.#onOpened?.(),
      ended: (error) => this.#onEnded(error),
    });
    return this.#lazyConnection;
  }

  /** Internal: whether the handler used it. */
  get wasUsed(): boolean {
    return this.#wasUsed || this.#stream !== undefined || this.#end !== undefined;
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
    return this.#enqueue(bytes.length, async (socket) => {
      for (let at = 0; at === 0 || at < bytes.length; at += MAX_BINARY_ITEM_BYTES) {
        await this.#send(socket, bytes.subarray(at, at + MAX_BINARY_ITEM_BYTES));
      }
    });
  }

  /** Writes one string item of up to 16 MiB. Otherwise as `write`. */
  send(text: string): Promise<void> {
    if (typeof text !== "string") return Promise.reject(new TypeError("send takes a string; write takes bytes"));
    const tooLong =
      text.length > MAX_FRAME_BYTES ||
      (text.length * 3 > MAX_FRAME_BYTES && encoder.encode(text).length > MAX_FRAME_BYTES);
    if (tooLong) {
      const message = `a string item may have up to ${MAX_FRAME_BYTES} bytes; send it in parts`;
      return Promise.reject(new CallError("payload_too_large", message, { details: { limit_bytes: MAX_FRAME_BYTES } }));
    }
    return this.#enqueue(text.length, (socket) => this.#send(socket, text));
  }

  /**
   * Ends the channel: the reader receives what was written, then the end. Resolves when the engine has accepted
   * everything. Rejects with `channel_closed` if it did not. Connects an unused channel, so that its reader receives
   * the end. Further calls return the same promise.
   */
  end(): Promise<void> {
    this.#end ??= this.#finish();
    return this.#end;
  }

  /**
   * Aborts the channel: its reader fails with `channel_closed` instead of a normal end. Has no effect on a channel that
   * was never connected.
   */
  abort(reason = "aborted by its writer"): void {
    this.#connection.breakOff(channelClosed(this.ref, reason));
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
    this.#connection.breakOff(error);
  }

  #enqueue(bytes: number, work: (socket: ChannelSocket) => Promise<void>): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#isOver) return Promise.reject(new TypeError("the channel was ended; nothing can be written any more"));
    if (this.#waitingBytes > MAX_WAITING_BYTES) {
      const message = `over ${MAX_WAITING_BYTES} bytes of earlier writes are unsent; await each write`;
      return Promise.reject(new CallError("overloaded", message, { details: { limit_bytes: MAX_WAITING_BYTES } }));
    }
    this.#wasUsed = true;
    this.#waitingBytes += bytes;
    const done = this.#runInOrder(async () => {
      try {
        await work(await this.#socket());
      } finally {
        this.#waitingBytes -= bytes;
      }
    });
    return done;
  }

  #runInOrder(work: () => Promise<void>): Promise<void> {
    const done = (this.#tail ?? Promise.resolve()).then(work);
    this.#tail = done.catch(() => {});
    return done;
  }

  async #socket(): Promise<ChannelSocket> {
    this.#opened ??= new Promise((resolve) => {
      this.#onOpened = resolve;
      this.#connection.start();
    });
    await this.#opened;
    return this.#requireSocket();
  }

  #requireSocket(): ChannelSocket {
    if (this.#error !== undefined) throw this.#error;
    return this.#connection.socket ?? fail(channelClosed(this.ref, "the connection ended"));
  }

  async #send(socket: ChannelSocket, item: ChannelItem): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    socket.send(item);
    if (++this.#sends % SENDS_BETWEEN_YIELDS === 0) await yieldToEventLoop();
    if (socket.bufferedBytes > MAX_SENDING_BYTES) await this.#drain(socket, MAX_SENDING_BYTES);
  }

  /** Waits until at most `limitBytes` bytes are buffered. Aborts the channel if nothing was sent for 5 minutes. */
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
      if (socket.bufferedBytes >= before) this.abort(`its reader has accepted nothing for ${STALL_LIMIT_MS} ms`);
      this.#requireSocket();
    }
  }

  async #finish(): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    this.#isOver = true;
    await this.#runInOrder(async () => {
      const socket = await this.#socket();
      await this.#drain(socket, 0);
      this.#hasClosed = socket.isOpen;
      this.#connection.close();
      const cancelTimer = this.#host.clock.after(STALL_LIMIT_MS, () =>
        this.abort(`the engine did not confirm its end within ${STALL_LIMIT_MS} ms`),
      );
      await this.#connection.closed;
      cancelTimer();
    });
    if (this.#error !== undefined) throw this.#error;
  }

  #onEnded(error: CallError | undefined): void {
    // A normal end that this side did not start: the reader disconnected.
    this.#error = error ?? (this.#hasClosed ? undefined : channelClosed(this.ref, "the reader disconnected"));
    this.#isOver = true;
    this.#onOpened?.();
  }
}

function fail(error: CallError): never {
  throw error;
}
