import type { Socket as TcpSocket } from "node:net";
import { MAX_FRAME_BYTES } from "@svc/protocol";
import { type RawData, WebSocket } from "ws";
import { CheckedSocket } from "./checked-socket.ts";
import { describeRefusal, readRefusal } from "./refused-upgrade.ts";
import type { OpenSocket, Socket, SocketEvents, UpgradeRefusal } from "./socket.ts";

/** The engine may add its envelope to a payload that was just within the limit. */
const MAX_INBOUND_BYTES = 2 * MAX_FRAME_BYTES;

/** Opens sockets by `ws`, with these headers on the upgrade; each after `beforeConnect` has resolved, where there is one. */
export function nodeSockets(headers: Readonly<Record<string, string>>, beforeConnect?: () => Promise<void>): OpenSocket {
  if (beforeConnect === undefined) return (address, events) => new NodeSocket(address, headers, events);
  return (address, events) => new CheckedSocket(beforeConnect, () => new NodeSocket(address, headers, events), events);
}

class NodeSocket implements Socket {
  readonly #socket: WebSocket;
  /** The TCP or TLS socket below; known from the upgrade on. */
  #below: TcpSocket | undefined;
  #corked = false;
  #whenFlushed: Promise<void> | undefined;
  #resolveFlushed: (() => void) | undefined;
  #problem: string | undefined;
  #refusal: UpgradeRefusal | undefined;

  constructor(address: string, headers: Readonly<Record<string, string>>, events: SocketEvents) {
    this.#socket = new WebSocket(address, { headers, perMessageDeflate: false, maxPayload: MAX_INBOUND_BYTES });
    this.#socket.on("upgrade", (response) => {
      // Bun has a `ws` of its own, which shows no socket.
      this.#below = (response.socket as TcpSocket | null) ?? undefined;
    });
    this.#socket.on("unexpected-response", (_request, response) => {
      // Never rejects, and what follows does not throw.
      void readRefusal(response).then((refusal) => {
        this.#refusal = refusal;
        this.#socket.terminate();
      });
    });
    this.#socket.on("open", () => events.opened());
    this.#socket.on("message", (data: RawData) => events.message((data as Buffer).toString()));
    this.#socket.on("ping", () => events.alive());
    this.#socket.on("pong", () => events.alive());
    // `close` always follows; the error only says why.
    this.#socket.on("error", (error) => {
      this.#problem = error.message || ("code" in error ? String(error.code) : error.name);
    });
    this.#socket.on("close", (code, reason) => {
      this.#flush();
      if (this.#refusal !== undefined) events.closed(describeRefusal(this.#refusal), this.#refusal);
      else events.closed(this.#problem ?? `closed with code ${code}${reason.length === 0 ? "" : ` (${reason.toString()})`}`, undefined, code);
    });
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  send(frame: string | Uint8Array): void {
    // One write to the system per tick instead of two per frame halves what a busy connection costs, here and in the engine.
    if (!this.#corked && this.#below !== undefined) {
      this.#corked = true;
      this.#below.cork();
      setImmediate(this.#flush);
    }
    this.#socket.send(frame);
  }

  readonly #flush = (): void => {
    if (!this.#corked) return;
    this.#corked = false;
    this.#below?.uncork();
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
