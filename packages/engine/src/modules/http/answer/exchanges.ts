import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ChannelOffer } from "../../../kernel/module.ts";

/** One request and its response, from arrival until the answer is out or the client is gone. */
export interface Exchange {
  /** UUID. */
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborts when the exchange is withdrawn. */
  readonly signal: AbortSignal;
  /** True when the answer is out or the client is gone. */
  readonly isOver: boolean;
  /** The channels that the exchange's id names, while someone may come for them. */
  channels: ChannelOffer | undefined;
  /** Runs `listener` once, when the exchange is over. */
  onEnd(listener: () => void): void;
  /** Runs `listener` once, when the client goes before it has its answer or the module is cut off. */
  onWithdrawn(listener: () => void): void;
}

class OpenExchange implements Exchange {
  readonly id = randomUUID();
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  isOver = false;
  channels: ChannelOffer | undefined;
  #isWithdrawn = false;
  readonly #endListeners: (() => void)[] = [];
  readonly #withdrawnListeners: (() => void)[] = [];
  /** Made on demand: most exchanges need none. */
  #abort: AbortController | undefined;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request;
    this.response = response;
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
    else this.#withdrawnListeners.push(listener);
  }

  withdraw(): void {
    this.#isWithdrawn = true;
    for (const listener of this.#withdrawnListeners.splice(0)) listener();
  }

  end(): void {
    this.isOver = true;
    // After its answer a function may go on with what it has to do.
    if (!this.response.writableFinished) this.withdraw();
    this.#withdrawnListeners.length = 0;
    for (const listener of this.#endListeners.splice(0)) listener();
  }
}

/** The exchanges that are under way. */
export class Exchanges {
  #open = 0;
  // Responses behind another one on the same connection (pipelining) are not told when it closes, so the sockets are asked.
  // Mostly one each. An array and not a Set: a Set that lives long and is written at each request leaves tables behind that hold on to young objects.
  readonly #connections = new Map<Socket, OpenExchange[]>();
  readonly #idle: (() => void)[] = [];

  /** How many there are. */
  get open(): number {
    return this.#open;
  }

  begin(request: IncomingMessage, response: ServerResponse): Exchange {
    const connection = this.#connectionOf(request.socket);
    const exchange = new OpenExchange(request, response);
    this.#open++;
    connection.push(exchange);
    response.on("close", () => this.#end(connection, exchange));
    return exchange;
  }

  /** Withdraws all calls; their exchanges are answered as cancelled. */
  abortAll(): void {
    for (const exchanges of this.#connections.values()) for (const exchange of [...exchanges]) exchange.withdraw();
  }

  /** Looks through all; few who ask, and no table to keep for the many who do not. */
  byId(id: string): Exchange | undefined {
    for (const exchanges of this.#connections.values()) for (const exchange of exchanges) if (exchange.id === id) return exchange;
    return undefined;
  }

  /** Resolves when nothing is under way. */
  whenIdle(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #connectionOf(socket: Socket): OpenExchange[] {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const exchanges: OpenExchange[] = [];
    this.#connections.set(socket, exchanges);
    socket.once("close", () => {
      this.#connections.delete(socket);
      for (const exchange of [...exchanges]) this.#end(exchanges, exchange);
    });
    return exchanges;
  }

  #end(connection: OpenExchange[], exchange: OpenExchange): void {
    if (exchange.isOver) return;
    connection.splice(connection.indexOf(exchange), 1);
    this.#open--;
    exchange.end();
    if (this.#open > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
