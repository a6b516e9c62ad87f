import { tokenSubprotocols } from "@svc/protocol";
import type { OpenSocket, Socket, SocketEvents } from "./socket.ts";

/** The parts of the platform's WebSocket that are used here, so that no DOM types are needed to build this package. */
interface PlatformSocket {
  binaryType: string;
  readonly bufferedAmount: number;
  send(frame: string | Uint8Array): void;
  close(code?: number): void;
  addEventListener(type: string, listener: (event: PlatformEvent) => void): void;
}
interface PlatformEvent {
  readonly data?: unknown;
  readonly code?: number;
  readonly reason?: string;
}
type PlatformConstructor = new (address: string, protocols: readonly string[]) => PlatformSocket;

const decoder = new TextDecoder();

/**
 * Opens sockets by the platform's own WebSocket, which can neither ping nor set headers: the token, `token` or else the password
 * in the address, goes as a subprotocol, since browsers do not send an address's credentials.
 */
export function browserSockets(token: string | undefined): OpenSocket {
  const given = token === undefined ? undefined : tokenSubprotocols(token);
  return (address, events) => {
    const { WebSocket } = globalThis as unknown as { readonly WebSocket?: PlatformConstructor };
    if (WebSocket === undefined) throw new TypeError("this platform has no global WebSocket; on Node import @svc/sdk instead of @svc/sdk/browser");
    const url = new URL(address);
    const protocols = given ?? (url.password === "" ? [] : tokenSubprotocols(decodeURIComponent(url.password)));
    url.username = "";
    url.password = "";
    return new BrowserSocket(new WebSocket(url.href, protocols), events);
  };
}

class BrowserSocket implements Socket {
  readonly #socket: PlatformSocket;
  readonly #events: SocketEvents;
  #ended = false;

  constructor(socket: PlatformSocket, events: SocketEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => {
      if (!this.#ended) events.opened();
    });
    socket.addEventListener("message", (event) => {
      if (!this.#ended) events.message(typeof event.data === "string" ? event.data : decoder.decode(event.data as ArrayBuffer));
    });
    // `close` always follows, and the platform does not say what went wrong. Where `ws` stands in for it, an error that nobody hears ends the process.
    socket.addEventListener("error", () => {});
    socket.addEventListener("close", (event) => {
      const reason = event.reason ?? "";
      this.#end(`closed with code ${event.code ?? 1005}${reason === "" ? "" : ` (${reason})`}`, event.code);
    });
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  send(frame: string | Uint8Array): void {
    this.#socket.send(frame);
  }

  flushed(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.#socket.close(1000);
  }

  /** The platform has no way to cut a socket; its close is left to go on alone. */
  terminate(): void {
    this.#socket.close();
    this.#end("ended by this side");
  }

  #end(reason: string, code?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.closed(reason, undefined, code);
  }
}
