import { tokenSubprotocols } from "@svc-runtime/protocol/client";
import type { OpenSocket, Socket, SocketEvents } from "./socket.ts";

/**
 * The parts of the platform's WebSocket that this package uses. They are declared here, so that the package builds
 * without DOM types.
 */
export interface PlatformSocket {
  binaryType: string;
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(frame: string | Uint8Array): void;
  close(code?: number, reason?: string): void;
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
 * Opens sockets with the platform's WebSocket, which can neither ping nor set headers. The token is sent as a
 * subprotocol, because browsers do not send an address's credentials. It is `token`; if that is undefined, it is the
 * password in the address.
 */
export function browserSockets(token: string | undefined): OpenSocket {
  const given = token === undefined ? undefined : tokenSubprotocols(token);
  return (address, events) => {
    const { password } = new URL(address);
    const protocols = given ?? (password === "" ? [] : tokenSubprotocols(decodeURIComponent(password)));
    return new BrowserSocket(openPlatformSocket(address, protocols), events);
  };
}

/**
 * Opens a platform WebSocket. Removes the credentials from the address, because some browsers reject addresses with
 * credentials.
 */
export function openPlatformSocket(address: string, protocols: readonly string[]): PlatformSocket {
  const { WebSocket } = globalThis as unknown as { readonly WebSocket?: PlatformConstructor };
  if (WebSocket === undefined)
    throw new TypeError(
      "this platform has no global WebSocket; on Node import @svc-runtime/sdk instead of @svc-runtime/sdk/browser",
    );
  const url = new URL(address);
  url.username = "";
  url.password = "";
  return new WebSocket(url.href, protocols);
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
      if (!this.#ended)
        events.message(typeof event.data === "string" ? event.data : decoder.decode(event.data as ArrayBuffer));
    });
    // The event `close` always follows, and the platform gives no details about errors. The listener is needed because
    // tests use `ws` as the platform's WebSocket, and there an error without a listener ends the process.
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

  /**
   * The platform cannot destroy a socket. So this reports the end at once, and the closing handshake continues without
   * being awaited.
   */
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
