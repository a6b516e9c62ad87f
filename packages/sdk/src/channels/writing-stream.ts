import { CallError, MAX_FRAME_BYTES } from "@svc-runtime/protocol/client";
import type { Clock } from "../clock.ts";
import { ChannelConnection, channelClosed } from "./channel-connection.ts";
import type { ChannelHost, WriteRef, WriterStream } from "./channel-host.ts";
import type { ChannelItem, ChannelSocket, OpenChannelSocket } from "./channel-socket.ts";
import { MAX_BINARY_ITEM_BYTES, MAX_SENDING_BYTES, STALL_LIMIT_MS } from "./limits.ts";
import { MAX_WAITING_BYTES, tooMuchUnsent } from "./waiting-writes.ts";

const encoder = new TextEncoder();
/**
 * Number of sends between two yields to the event loop. Yields are needed because, while the operating system accepts
 * data at once, a loop of awaited writes never lets other work run, not even the event that the reader disconnected.
 */
const SENDS_BETWEEN_YIELDS = 64;

/** Resolves after all other ready tasks of this process have run. */
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === "function") setImmediate(resolve);
    else setTimeout(resolve);
  });
}

/** The connection of a channel's writer, and its unfinished writes. */
export class WritingStream implements WriterStream {
  readonly #clock: Clock;
  readonly #connection: ChannelConnection;
  /** Resolves when all writes so far are done. It never rejects. */
  #tail: Promise<void> | undefined;
  #waitingBytes = 0;
  #sends = 0;
  #isOver = false;
  /** True if this side closed the channel first, so that a normal end is the other side's response to that. */
  #hasClosed = false;
  #error: CallError | undefined;
  #opened: Promise<void> | undefined;
  #onOpened: (() => void) | undefined;
  #end: Promise<void> | undefined;

  constructor(host: ChannelHost, openSocket: OpenChannelSocket, ref: WriteRef) {
    this.#clock = host.clock;
    this.#connection = new ChannelConnection(host, openSocket, ref, {
      opened: () => this.#onOpened?.(),
      ended: (error) => this.#onEnded(error),
    });
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#enqueue(bytes.length, async (socket) => {
      for (let at = 0; at === 0 || at < bytes.length; at += MAX_BINARY_ITEM_BYTES) {
        await this.#send(socket, bytes.subarray(at, at + MAX_BINARY_ITEM_BYTES));
      }
    });
  }

  send(text: string): Promise<void> {
    const tooLong =
      text.length > MAX_FRAME_BYTES ||
      (text.length * 3 > MAX_FRAME_BYTES && encoder.encode(text).length > MAX_FRAME_BYTES);
    if (tooLong) {
      const message = `a string item may have up to ${MAX_FRAME_BYTES} bytes; send it in parts`;
      return Promise.reject(new CallError("payload_too_large", message, { details: { limit_bytes: MAX_FRAME_BYTES } }));
    }
    return this.#enqueue(text.length, (socket) => this.#send(socket, text));
  }

  end(): Promise<void> {
    this.#end ??= this.#finish();
    return this.#end;
  }

  abort(reason: string): void {
    this.#connection.breakOff(this.#closedError(reason));
  }

  breakOff(error: CallError): void {
    this.#connection.breakOff(error);
  }

  #closedError(reason: string): CallError {
    return channelClosed(this.#connection.ref, reason);
  }

  #enqueue(bytes: number, work: (socket: ChannelSocket) => Promise<void>): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#isOver) return Promise.reject(new TypeError("the channel was ended; nothing can be written any more"));
    if (this.#waitingBytes > MAX_WAITING_BYTES) return Promise.reject(tooMuchUnsent());
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
    // A channel that was aborted before it connected never connects.
    if (this.#error !== undefined) throw this.#error;
    this.#opened ??= new Promise((resolve) => {
      this.#onOpened = resolve;
      this.#connection.start();
    });
    await this.#opened;
    return this.#requireSocket();
  }

  #requireSocket(): ChannelSocket {
    if (this.#error !== undefined) throw this.#error;
    return this.#connection.socket ?? fail(this.#closedError("the connection ended"));
  }

  async #send(socket: ChannelSocket, item: ChannelItem): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    socket.send(item);
    if (++this.#sends % SENDS_BETWEEN_YIELDS === 0) await yieldToEventLoop();
    if (socket.bufferedBytes > MAX_SENDING_BYTES) await this.#drain(socket, MAX_SENDING_BYTES);
  }

  /** Waits until at most `limitBytes` bytes are buffered. Aborts the channel if nothing is sent for 5 minutes. */
  async #drain(socket: ChannelSocket, limitBytes: number): Promise<void> {
    while (socket.bufferedBytes > limitBytes) {
      const before = socket.bufferedBytes;
      let cancelTimer: () => void = () => {};
      const stalled = new Promise<void>((resolve) => {
        cancelTimer = this.#clock.after(STALL_LIMIT_MS, resolve);
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
      const cancelTimer = this.#clock.after(STALL_LIMIT_MS, () =>
        this.abort(`the engine did not confirm its end within ${STALL_LIMIT_MS} ms`),
      );
      await this.#connection.closed;
      cancelTimer();
    });
    if (this.#error !== undefined) throw this.#error;
  }

  #onEnded(error: CallError | undefined): void {
    // If this side did not close the channel, a normal end means that the reader disconnected.
    this.#error = error ?? (this.#hasClosed ? undefined : this.#closedError("the reader disconnected"));
    this.#isOver = true;
    this.#onOpened?.();
  }
}

function fail(error: CallError): never {
  throw error;
}
