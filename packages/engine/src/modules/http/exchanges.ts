import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** One request and its response, from arrival until the answer is out or the client is gone. */
export interface Exchange {
  /** UUID. */
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborts when the client goes, or the module is cut off. */
  readonly signal: AbortSignal;
  /** True when the answer is out or the client is gone. */
  readonly isOver: boolean;
  /** Runs `listener` once, when the exchange is over. */
  onEnd(listener: () => void): void;
}

interface OpenExchange extends Exchange {
  isOver: boolean;
  readonly endListeners: (() => void)[];
}

/** A client's connection. Its exchanges share one signal, since they lose their client together. */
interface ClientConnection {
  readonly abort: AbortController;
  /** Mostly one. An array and not a Set: a Set that lives long and is written at each request leaves tables behind that hold on to young objects. */
  readonly exchanges: OpenExchange[];
}

/** The exchanges that are under way. */
export class Exchanges {
  #open = 0;
  // Responses behind another one on the same connection (pipelining) are not told when it closes, so the sockets are asked.
  readonly #connections = new Map<Socket, ClientConnection>();
  readonly #idle: (() => void)[] = [];

  begin(request: IncomingMessage, response: ServerResponse): Exchange {
    const connection = this.#connectionOf(request.socket);
    const endListeners: (() => void)[] = [];
    const exchange: OpenExchange = {
      id: randomUUID(),
      request,
      response,
      signal: connection.abort.signal,
      isOver: false,
      endListeners,
      onEnd: (listener) => endListeners.push(listener),
    };
    this.#open++;
    connection.exchanges.push(exchange);
    response.once("close", () => this.#end(connection, exchange));
    // A write to a client that left; its end is seen by the listeners above.
    response.on("error", () => {});
    return exchange;
  }

  /** Withdraws all calls; their exchanges are answered as cancelled. */
  abortAll(): void {
    for (const { abort, exchanges } of this.#connections.values()) if (exchanges.length > 0) abort.abort();
  }

  /** Resolves when nothing is under way. */
  whenIdle(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #connectionOf(socket: Socket): ClientConnection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const connection: ClientConnection = { abort: new AbortController(), exchanges: [] };
    // Each call in flight listens, and pipelining may put many on one connection.
    setMaxListeners(0, connection.abort.signal);
    this.#connections.set(socket, connection);
    socket.once("close", () => {
      this.#connections.delete(socket);
      connection.abort.abort();
      for (const exchange of [...connection.exchanges]) this.#end(connection, exchange);
    });
    return connection;
  }

  #end(connection: ClientConnection, exchange: OpenExchange): void {
    if (exchange.isOver) return;
    exchange.isOver = true;
    this.#open--;
    connection.exchanges.splice(connection.exchanges.indexOf(exchange), 1);
    for (const listener of exchange.endListeners) listener();
    if (this.#open > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
