import { MAX_FRAME_BYTES } from "@svc-runtime/protocol/client";
import { type ClientOptions, type RawData, WebSocket } from "ws";
import type { ChannelItem, ChannelSocket, ChannelSocketEvents, OpenChannelSocket } from "./channel-socket.ts";
import { STALL_LIMIT_MS } from "./limits.ts";

/**
 * An option of `ws` that its types lack. Without it, `ws` terminates a socket 30 s after the start of the closing
 * handshake, even if a slow reader is still receiving.
 */
interface Options extends ClientOptions {
  readonly closeTimeout: number;
}

const options: Options = { perMessageDeflate: false, maxPayload: MAX_FRAME_BYTES, closeTimeout: STALL_LIMIT_MS };

/** Opens channel sockets with `ws`. */
export const nodeChannelSockets: OpenChannelSocket = (address, events) => new NodeChannelSocket(address, events);

interface Waiter {
  readonly limitBytes: number;
  readonly resolve: () => void;
}

class NodeChannelSocket implements ChannelSocket {
  readonly #socket: WebSocket;
  readonly #waiters = new Set<Waiter>();
  #problem: string | undefined;

  constructor(address: string, events: ChannelSocketEvents) {
    this.#socket = new WebSocket(address, options);
    this.#socket.on("open", () => events.opened());
    this.#socket.on("message", (data: RawData, isBinary: boolean) =>
      events.item(isBinary ? (data as Buffer) : (data as Buffer).toString()),
    );
    this.#socket.on("ping", () => events.alive());
    this.#socket.on("pong", () => events.alive());
    // The event `close` always follows. The error only provides the reason.
    this.#socket.on("error", (error) => {
      this.#problem = error.message || ("code" in error ? String(error.code) : error.name);
    });
    this.#socket.on("close", (code, reason) => {
      this.#wake(true);
      events.closed(code, this.#problem ?? reason.toString());
    });
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  send(item: ChannelItem): void {
    this.#socket.send(item, this.#onWritten);
  }

  readonly #onWritten = (): void => {
    if (this.#waiters.size > 0) this.#wake(false);
  };

  #wake(all: boolean): void {
    const buffered = this.#socket.bufferedAmount;
    for (const waiter of this.#waiters) {
      if (!all && buffered > waiter.limitBytes) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  drained(limitBytes: number): Promise<void> {
    if (this.#socket.readyState === WebSocket.CLOSED || this.#socket.bufferedAmount <= limitBytes)
      return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.add({ limitBytes, resolve });
    });
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  ping(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping();
  }

  close(): void {
    this.#socket.close(1000);
    // The socket is resumed, because a paused one would not receive the other side's close frame.
    this.#socket.resume();
  }

  terminate(): void {
    this.#socket.terminate();
  }
}
