import type { ChannelItem, ChannelSocket, ChannelSocketEvents, OpenChannelSocket } from "./channel-socket.ts";

/** The parts of the platform's WebSocket that are used here, so that no DOM types are needed to build this package. */
interface PlatformSocket {
  binaryType: string;
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(item: ChannelItem): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: string, listener: (event: PlatformEvent) => void): void;
}
interface PlatformEvent {
  readonly data?: unknown;
  readonly code?: number;
  readonly reason?: string;
}
type PlatformConstructor = new (address: string) => PlatformSocket;

const OPEN = 1;
const CLOSED = 3;
/** Pages may close with 1000 and with codes from 3000 on; this one stands for "broken off". */
const CLOSE_ABORTED = 4000;
const CLOSE_ABNORMAL = 1006;
/** The platform does not tell when its buffer drains, so it is looked at. */
const LOOK_EVERY_MS = 5;

/** Opens channel sockets by the platform's own WebSocket, which can neither ping nor hold back what comes. */
export const browserChannelSockets: OpenChannelSocket = (address, events) => {
  const { WebSocket } = globalThis as unknown as { readonly WebSocket?: PlatformConstructor };
  if (WebSocket === undefined) throw new TypeError("this platform has no global WebSocket; on Node import @svc/sdk instead of @svc/sdk/browser");
  return new BrowserChannelSocket(new WebSocket(withoutCredentials(address)), events);
};

/** Pages may not open sockets to addresses with credentials everywhere; the channel's key is credential enough. */
function withoutCredentials(address: string): string {
  const url = new URL(address);
  url.username = "";
  url.password = "";
  return url.href;
}

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
    // `close` always follows. Where `ws` stands in for the platform's, an error that nobody hears ends the process.
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
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  close(): void {
    this.#socket.close(1000);
  }

  /** The platform has no way to cut a socket; its close is left to go on alone. */
  terminate(): void {
    this.#socket.close(CLOSE_ABORTED, "aborted");
    this.#end(CLOSE_ABNORMAL, "broken off by this side");
  }

  #end(code: number, reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.closed(code, reason);
  }
}
