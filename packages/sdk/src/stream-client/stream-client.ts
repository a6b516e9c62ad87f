import { CallError } from "@svc/protocol";
import { Backoff, type ReconnectOptions } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import { connected } from "../connected.ts";
import { Connection, type ConnectionState, notConnected } from "../connection.ts";
import { type Logger, unthrowing } from "../logger.ts";
import { nameRefusal } from "../refusals.ts";
import { SilenceWatch } from "../silence-watch.ts";
import type { OpenSocket } from "../socket.ts";
import type { WaitOptions } from "../worker.ts";
import { readInbound } from "./inbound-message.ts";
import { type CollectionOptions, StreamCollection } from "./stream-collection.ts";
import type { GroupHandlers, ItemHandlers, StreamChoice, StreamHandlers, StreamSubscription } from "./stream-handlers.ts";
import { Subscription, type SubscriptionHost } from "./stream-subscription.ts";

/** The close code after which trying again is of no use: this client may not connect. (4401, who it is cannot be told, ends when whoever tells is there.) */
const MAY_NOT_CONNECT = 4403;

const MAX_ITEM_ID = 1024;

/** What `connectStreams` takes on every platform. */
export interface StreamClientOptions {
  /** `ws://` or `wss://` URL of the engine's real-time listener. Default `ws://localhost:3112`. */
  readonly url?: string | undefined;
  /** The engine's token, where it wants one. In browsers it goes as a WebSocket subprotocol. Default: the password in the URL. */
  readonly token?: string | undefined;
  /** Added to the URL; the engine hands it to its `auth_function`. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly reconnect?: ReconnectOptions | undefined;
  /** Default: JSON lines on stderr on Node, the console in browsers. */
  readonly logger?: Logger | undefined;
}

/** What a platform brings along. */
export interface StreamPlatform {
  readonly openSocket: OpenSocket;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: (() => number) | undefined;
}

/**
 * A connection to the engine's streams that is made again whenever it is lost; what was joined goes on where it stopped. Made by
 * `connectStreams`.
 */
export class StreamClient {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #host: SubscriptionHost;
  readonly #watch: SilenceWatch;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #stateListeners = new Set<(state: ConnectionState) => void>();
  #lastName = 0;
  #epoch: string | undefined;
  #isClosed = false;

  /** Not for users: `connectStreams` makes clients. */
  constructor(address: string, options: StreamClientOptions, platform: StreamPlatform) {
    this.#clock = platform.clock;
    this.#logger = unthrowing(options.logger ?? platform.logger);
    this.#connection = new Connection({
      address,
      openSocket: platform.openSocket,
      clock: platform.clock,
      backoff: new Backoff(options.reconnect, platform.random),
      logger: this.#logger,
      isFinal: (code) => code === MAY_NOT_CONNECT,
      events: {
        opened: () => this.#onOpened(),
        message: (text) => this.#onMessage(text),
        lost: () => this.#onLost(),
        state: (state) => this.#onState(state),
      },
    });
    this.#watch = new SilenceWatch({
      clock: platform.clock,
      ask: () => this.#send({ type: "ping" }),
      dead: (silentMs) => this.#connection.drop(`nothing was heard from the engine for ${silentMs} ms`),
    });
    this.#host = {
      clock: this.#clock,
      logger: this.#logger,
      epoch: () => this.#epoch,
      send: (message) => this.#send(message),
      drop: (subscription) => {
        for (const [name, each] of this.#subscriptions) if (each === subscription) this.#subscriptions.delete(name);
      },
    };
    this.#connection.start();
  }

  /** `failed`: the engine refused this client (close code 4403), or the allowed attempts are used up. */
  get connectionState(): ConnectionState {
    return this.#connection.state;
  }

  /** Tells of each change of the connection's state from now on. Returns how to stop that. */
  onConnectionState(listener: (state: ConnectionState) => void): () => void {
    // Wrapped, so that one function given twice is two listeners, each undone on its own.
    const entry = (state: ConnectionState): void => listener(state);
    this.#stateListeners.add(entry);
    return () => {
      this.#stateListeners.delete(entry);
    };
  }

  /** Resolves when the engine has greeted this client. Rejects with `disconnected` after `timeout_ms` (default 30,000), and when the client gives up or is closed. */
  connected(options: WaitOptions = {}): Promise<void> {
    return connected(this.#connection, (listener) => this.onConnectionState(listener), this.#clock, {
      timeoutMs: options.timeout_ms,
      processIsEnding: () => false,
    });
  }

  /**
   * Joins a group of a stream, or one item of it, now and after every reconnect. Throws TypeError for a bad name, and CallError `draining` after
   * `close`.
   */
  subscribe<Item = unknown>(choice: StreamChoice & { readonly id: string }, handlers: ItemHandlers<Item>): StreamSubscription;
  subscribe<Item = unknown>(choice: StreamChoice & { readonly id?: undefined }, handlers: GroupHandlers<Item>): StreamSubscription;
  subscribe(choice: StreamChoice & { readonly id?: string | undefined }, handlers: StreamHandlers<never, never>): StreamSubscription {
    const problem = nameRefusal(choice.streamName, "streamName") ?? nameRefusal(choice.groupId, "groupId") ?? itemProblem(choice.id);
    if (problem !== undefined) throw new TypeError(problem);
    if (this.#isClosed) throw new CallError("draining", "the client was closed; nothing can be joined any more");
    const name = `s${++this.#lastName}`;
    // Both signatures tie the handlers' types to what the author says comes in.
    const subscription = new Subscription(name, choice, handlers as StreamHandlers<unknown, unknown>, this.#host);
    this.#subscriptions.set(name, subscription);
    if (this.connectionState === "failed") subscription.fail(notConnected(this.#connection, "gave up connecting to"));
    else if (this.#epoch !== undefined) subscription.join();
    return subscription;
  }

  /** Joins a group and keeps its items by id, always as the stream has them. */
  collection<Item = unknown>(choice: StreamChoice, options: CollectionOptions<Item> = {}): StreamCollection<Item> {
    return new StreamCollection<Item>((handlers) => this.subscribe<Item>({ streamName: choice.streamName, groupId: choice.groupId }, handlers), options);
  }

  /** Leaves everything and closes the connection. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const subscription of [...this.#subscriptions.values()]) subscription.leave();
    await this.#connection.stop();
    this.#watch.stop();
  }

  #onOpened(): void {
    this.#watch.start();
    this.#send({ type: "hello", data: { version: 1 } });
  }

  #onMessage(text: string): void {
    this.#watch.heard();
    const message = readInbound(text);
    if (message === undefined) {
      this.#logger.warn("the engine sent something that is no stream message", { bytes: text.length });
      return;
    }
    if (message.type === "other") return;
    if (message.type === "welcome") {
      this.#epoch = message.epoch;
      this.#connection.confirmed();
      for (const subscription of [...this.#subscriptions.values()]) subscription.join();
      return;
    }
    if (message.type === "stream") {
      for (const name of message.subscriptionIds) this.#subscriptions.get(name)?.received(message.event);
      return;
    }
    if (message.type === "heartbeat") {
      for (const { subscriptionId, seq } of message.positions) this.#subscriptions.get(subscriptionId)?.isAt(seq);
      return;
    }
    const subscription = message.subscriptionId === undefined ? undefined : this.#subscriptions.get(message.subscriptionId);
    if (message.type === "joined") subscription?.joined(message.resumed);
    else if (message.type === "gap") subscription?.missed(message.gap);
    else if (message.subscriptionId !== undefined) subscription?.refused(new CallError(message.code, message.message));
    else this.#onError(message.code, message.message);
  }

  /** An error that concerns no subscription. */
  #onError(code: string, message: string): void {
    this.#logger.error("the engine refused a message of the stream client", { code, reason: message });
    // Without its welcome nothing would ever come; an engine that says no to the hello may be another one by the next attempt.
    if (this.#epoch === undefined) this.#connection.drop(`the engine refused the greeting: ${message}`);
  }

  #onLost(): void {
    this.#epoch = undefined;
    this.#watch.stop();
    for (const subscription of [...this.#subscriptions.values()]) subscription.lost();
  }

  #onState(state: ConnectionState): void {
    if (state === "failed") {
      const error = notConnected(this.#connection, "gave up connecting to");
      for (const subscription of [...this.#subscriptions.values()]) subscription.fail(error);
    }
    for (const listener of [...this.#stateListeners]) {
      try {
        listener(state);
      } catch (error) {
        this.#logger.error("a connection state listener failed", { state, error });
      }
    }
  }

  #send(message: Readonly<Record<string, unknown>>): void {
    this.#connection.send(JSON.stringify(message));
  }
}

function itemProblem(id: unknown): string | undefined {
  if (id === undefined || (typeof id === "string" && id !== "" && id.length <= MAX_ITEM_ID)) return undefined;
  return `id must be a text of 1 to ${MAX_ITEM_ID} characters`;
}
