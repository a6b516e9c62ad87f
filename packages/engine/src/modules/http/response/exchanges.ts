import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ChannelOffer } from "../../../kernel/module.ts";
import type { RequestHead } from "../request-head.ts";

/** A request and its response, until the response is sent or the client disconnects. */
export interface Exchange {
  /** UUID. */
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborts when the exchange is cancelled. */
  readonly signal: AbortSignal;
  /** True when the response is sent or the client has disconnected. */
  readonly isOver: boolean;
  readonly connection: ExchangeConnection;
  /** The channels whose id is the id of the exchange. Undefined if they cannot be opened. */
  channels: ChannelOffer | undefined;
  /** Creates `channels` at the first lookup. Undefined if there is nothing to create. */
  offerChannels: (() => ChannelOffer) | undefined;
  /** Calls `listener` once when the exchange is over. */
  onEnd(listener: () => void): void;
  /**
   * Calls `listener` once when the client disconnects before the response is complete, or when the module is stopped.
   */
  onWithdrawn(listener: () => void): void;
}

/** A client's connection. */
export interface ExchangeConnection {
  head: RequestHead | undefined;
}

class OpenConnection implements ExchangeConnection {
  // An array instead of a Set. A Set that is changed at each request replaces its hash table again and again. If the
  // Set lives long, its old tables keep young objects alive.
  readonly exchanges: OpenExchange[] = [];
  head: RequestHead | undefined;
}

const NO_LISTENERS: readonly (() => void)[] = [];

class OpenExchange implements Exchange {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: OpenConnection;
  isOver = false;
  channels: ChannelOffer | undefined;
  offerChannels: (() => ChannelOffer) | undefined;
  #isWithdrawn = false;
  readonly #endListeners: (() => void)[] = [];
  #withdrawnListeners: (() => void)[] | undefined;
  /** Created on demand: most exchanges do not need it. */
  #abort: AbortController | undefined;

  constructor(id: string, request: IncomingMessage, response: ServerResponse, connection: OpenConnection) {
    this.id = id;
    this.request = request;
    this.response = response;
    this.connection = connection;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController();
      this.#abort = abort;
      this.onWithdrawn(() => abort.abort());
    }
    return this.#abort.signal;
  }

  onEnd(listener: () => void): void {
    if (this.isOver) listener();
    else this.#endListeners.push(listener);
  }

  onWithdrawn(listener: () => void): void {
    if (this.#isWithdrawn) listener();
    else if (this.#withdrawnListeners === undefined) this.#withdrawnListeners = [listener];
    else this.#withdrawnListeners.push(listener);
  }

  withdraw(): void {
    this.#isWithdrawn = true;
    const listeners = this.#withdrawnListeners ?? NO_LISTENERS;
    this.#withdrawnListeners = undefined;
    for (const listener of listeners) listener();
  }

  end(): void {
    this.isOver = true;
    // If the response was sent completely, the call is not cancelled, because the function may do more work after it.
    if (!this.response.writableFinished) this.withdraw();
    this.#withdrawnListeners = undefined;
    this.offerChannels = undefined;
    for (const listener of this.#endListeners.splice(0)) listener();
  }
}

/** The open exchanges. */
export class Exchanges {
  #open = 0;
  // A pipelined response that waits for its turn gets no event when its connection closes, so the sockets are watched.
  readonly #connections = new Map<Socket, OpenConnection>();
  readonly #idle: (() => void)[] = [];
  readonly #newId: () => string;

  /** `newId` returns the id of an exchange, which is also the id of its channels. */
  constructor(newId: () => string) {
    this.#newId = newId;
  }

  /** The number of open exchanges. */
  get open(): number {
    return this.#open;
  }

  begin(request: IncomingMessage, response: ServerResponse): Exchange {
    const connection = this.#connectionOf(request.socket);
    const exchange = new OpenExchange(this.#newId(), request, response, connection);
    this.#open++;
    connection.exchanges.push(exchange);
    response.on("close", () => this.#end(exchange));
    return exchange;
  }

  /** Cancels all calls; their exchanges respond with an error. */
  abortAll(): void {
    for (const { exchanges } of this.#connections.values()) for (const exchange of [...exchanges]) exchange.withdraw();
  }

  /**
   * Returns the channels of the exchange with this id. Searches all exchanges, because lookups are rare: an index that
   * changes at every request would cost more.
   */
  channelsOf(id: string): ChannelOffer | undefined {
    for (const { exchanges } of this.#connections.values())
      for (const exchange of exchanges) if (exchange.id === id) return exchange.channels ?? exchange.offerChannels?.();
    return undefined;
  }

  /** Resolves when no exchange is open. */
  whenIdle(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #connectionOf(socket: Socket): OpenConnection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const connection = new OpenConnection();
    this.#connections.set(socket, connection);
    socket.once("close", () => {
      this.#connections.delete(socket);
      for (const exchange of [...connection.exchanges]) this.#end(exchange);
    });
    return connection;
  }

  #end(exchange: OpenExchange): void {
    if (exchange.isOver) return;
    const { exchanges } = exchange.connection;
    exchanges.splice(exchanges.indexOf(exchange), 1);
    this.#open--;
    exchange.end();
    if (this.#open > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
