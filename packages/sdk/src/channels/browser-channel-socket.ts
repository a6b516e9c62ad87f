import { openPlatformSocket, type PlatformSocket } from "../connection/browser-socket.ts";
import type { ChannelItem, ChannelSocket, ChannelSocketEvents, OpenChannelSocket } from "./channel-socket.ts";

const OPEN = 1;
const CLOSED = 3;
/** Close code for an aborted channel. Pages may close only with 1000 and with codes from 3000 on. */
const CLOSE_ABORTED = 4000;
const CLOSE_ABNORMAL = 1006;
/** Interval of the checks for an empty buffer, in milliseconds. The platform has no event for that. */
const POLL_EVERY_MS = 5;

/**
 * Opens channel sockets with the platform's WebSocket, which can neither ping nor pause. The channel's key is the only
 * credential.
 */
export const browserChannelSockets: OpenChannelSocket = (address, events) =>
  new BrowserChannelSocket(openPlatformSocket(address, []), events);

class BrowserChannelSocket implements ChannelSocket {
  readonly #socket: PlatformSocket;
  readonly #events: ChannelSocketEvents;
  #ended = false;

  constructor(socket: PlatformSocket, events: ChannelSocketEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => {
      if (!this.#ended) events.opened();
    });
    socket.addEventListener("message", ({ data }) => {
      if (!this.#ended) events.item(typeof data === "string" ? data : new Uint8Array(data as ArrayBuffer));
    });
    // The event `close` always follows, so errors are ignored here. The listener is needed because tests use `ws` as
    // the platform's WebSocket, and there an error without a listener ends the process.
    socket.addEventListener("error", () => {});
    socket.addEventListener("close", ({ code, reason }) => this.#end(code ?? CLOSE_ABNORMAL, reason ?? ""));
  }

  get isOpen(): boolean {
    return this.#socket.readyState === OPEN;
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  send(item: ChannelItem): void {
    this.#socket.send(item);
  }

  async drained(limitBytes: number): Promise<void> {
    while (!this.#ended && this.#socket.readyState !== CLOSED && this.#socket.bufferedAmount > limitBytes) {
      await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS));
    }
  }

  close(): void {
    this.#socket.close(1000);
  }

  /**
   * The platform cannot destroy a socket. So this reports the end at once, and the closing handshake continues without
   * being awaited.
   */
  terminate(): void {
    this.#socket.close(CLOSE_ABORTED, "aborted");
    this.#end(CLOSE_ABNORMAL, "aborted by this side");
  }

  #end(code: number, reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.closed(code, reason);
  }
}
