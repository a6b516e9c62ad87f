import type { Socket as TcpSocket } from "node:net";
import { MAX_FRAME_BYTES } from "@svc-runtime/protocol/client";
import { type RawData, WebSocket } from "ws";
import { CheckedSocket } from "./checked-socket.ts";
import { describeRefusal, readRefusal } from "./refused-upgrade.ts";
import type { OpenSocket, Socket, SocketEvents, UpgradeRefusal } from "./socket.ts";

/**
 * Maximum size of a received frame, in bytes. The engine adds its envelope to a payload that may have the maximum size.
 */
const MAX_INBOUND_BYTES = 2 * MAX_FRAME_BYTES;

/**
 * Opens sockets with `ws`. The upgrade request has the headers that belong to the address. If `beforeConnect` is given,
 * each attempt first waits for it.
 */
export function nodeSockets(
  headersOf: (address: string) => Readonly<Record<string, string>>,
  beforeConnect?: () => Promise<void>,
): OpenSocket {
  const open = (address: string, events: SocketEvents): Socket => new NodeSocket(address, headersOf(address), events);
  if (beforeConnect === undefined) return open;
  return (address, events) => new CheckedSocket(beforeConnect, () => open(address, events), events);
}

class NodeSocket implements Socket {
  readonly #socket: WebSocket;
  /** The underlying TCP or TLS socket. Known after the upgrade. */
  #tcpSocket: TcpSocket | undefined;
  #corked = false;
  #whenFlushed: Promise<void> | undefined;
  #resolveFlushed: (() => void) | undefined;
  #problem: string | undefined;
  #refusal: UpgradeRefusal | undefined;

  constructor(address: string, headers: Readonly<Record<string, string>>, events: SocketEvents) {
    this.#socket = new WebSocket(address, { headers, perMessageDeflate: false, maxPayload: MAX_INBOUND_BYTES });
    this.#socket.on("upgrade", (response) => {
      // Bun has its own `ws`, which does not expose the TCP socket.
      this.#tcpSocket = (response.socket as TcpSocket | null) ?? undefined;
    });
    this.#socket.on("unexpected-response", (_request, response) => {
      // `readRefusal` never rejects, and the callback does not throw.
      void readRefusal(response).then((refusal) => {
        this.#refusal = refusal;
        this.#socket.terminate();
      });
    });
    this.#socket.on("open", () => events.opened());
    this.#socket.on("message", (data: RawData) => events.message((data as Buffer).toString()));
    this.#socket.on("ping", () => events.alive());
    this.#socket.on("pong", () => events.alive());
    // The event `close` always follows. The error only provides the reason.
    this.#socket.on("error", (error) => {
      this.#problem = error.message || ("code" in error ? String(error.code) : error.name);
    });
    this.#socket.on("close", (code, reason) => {
      this.#flush();
      if (this.#refusal !== undefined) events.closed(describeRefusal(this.#refusal), this.#refusal);
      else
        events.closed(
          this.#problem ?? `closed with code ${code}${reason.length === 0 ? "" : ` (${reason.toString()})`}`,
          undefined,
          code,
        );
    });
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  send(frame: string | Uint8Array): void {
    // Writes the frames of one tick in a single write, instead of two writes per frame. This halves the cost of a busy
    // connection, both here and in the engine.
    if (!this.#corked && this.#tcpSocket !== undefined) {
      this.#corked = true;
      this.#tcpSocket.cork();
      setImmediate(this.#flush);
    }
    this.#socket.send(frame);
  }

  readonly #flush = (): void => {
    if (!this.#corked) return;
    this.#corked = false;
    this.#tcpSocket?.uncork();
    this.#resolveFlushed?.();
    this.#whenFlushed = undefined;
    this.#resolveFlushed = undefined;
  };

  flushed(): Promise<void> {
    if (!this.#corked) return Promise.resolve();
    this.#whenFlushed ??= new Promise((resolve) => {
      this.#resolveFlushed = resolve;
    });
    return this.#whenFlushed;
  }

  ping(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping();
  }

  close(): void {
    this.#flush();
    this.#socket.close(1000);
  }

  terminate(): void {
    this.#flush();
    this.#socket.terminate();
  }
}
