import type { Socket as TcpSocket } from "node:net";
import { MAX_FRAME_BYTES } from "@svc-runtime/protocol/client";
import { type RawData, WebSocket } from "ws";
import { CheckedSocket } from "./checked-socket.ts";
import { describeRefusal, readRefusal } from "./refused-upgrade.ts";
import type { OpenSocket, Socket, SocketEvents, UpgradeRefusal } from "./socket.ts";

/** The engine adds its envelope to payloads that may be just within the limit. */
const MAX_INBOUND_BYTES = 2 * MAX_FRAME_BYTES;

/**
 * Opens sockets with `ws`, with the headers of their address on the upgrade request. If `beforeConnect` is given, each
 * attempt waits for it first.
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
      // Bun has its own `ws`, which does not expose the socket.
      this.#tcpSocket = (response.socket as TcpSocket | null) ?? undefined;
    });
    this.#socket.on("unexpected-response", (_request, response) => {
      // Neither `readRefusal` nor the callback can fail.
      void readRefusal(response).then((refusal) => {
        this.#refusal = refusal;
        this.#socket.terminate();
      });
    });
    this.#socket.on("open", () => events.opened());
    this.#socket.on("message", (data: RawData) => events.message((data as Buffer).toString()));
    this.#socket.on("ping", () => events.alive());
    this.#socket.on("pong", () => events.alive());
    // `close` always follows. The error only gives the reason.
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
    // Batches the frames of one tick into one write instead of two per frame. This halves the cost of a busy
    // connection, here and in the engine.
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
