import { CallError } from "@svc-runtime/protocol/client";
import type { Clock } from "../clock.ts";
import { Backoff, type ReconnectOptions } from "../connection/backoff.ts";
import { Connection, type ConnectionState, notConnected } from "../connection/connection.ts";
import { LivenessCheck } from "../connection/liveness-check.ts";
import type { OpenSocket } from "../connection/socket.ts";
import { waitConnected } from "../connection/wait-connected.ts";
import { Listeners } from "../listeners.ts";
import { type Logger, safeLogger } from "../logger.ts";
import { checkedOptions, type OptionNames, optionNames } from "../names/option-names.ts";
import { type WaitOptions, waitOptions } from "../options.ts";
import { nameRefusal } from "../refusals.ts";
import { readInbound } from "./inbound-message.ts";
import { type CollectionOptions, StreamCollection } from "./stream-collection.ts";
import type {
  GroupHandlers,
  ItemHandlers,
  StreamChoice,
  StreamHandlers,
  StreamSubscription,
} from "./stream-handlers.ts";
import { Subscription, type SubscriptionHost } from "./stream-subscription.ts";

/**
 * Close code that means that this client is not allowed to connect. No further attempt is made. (The code 4401 means
 * that the engine cannot check the client at present, so the client retries.)
 */
const MAY_NOT_CONNECT = 4403;

const MAX_ITEM_ID = 1024;

/** Options of `connectStreams` on every platform. */
export interface StreamClientOptions {
  /** `ws://` or `wss://` URL of the engine's real-time listener. Default `ws://localhost:3112`. */
  readonly url?: string | undefined;
  /**
   * The engine's token, if it requires one. In browsers it is sent as a WebSocket subprotocol. Default: the password in
   * the URL.
   */
  readonly token?: string | undefined;
  /** Members that are added to the query of the URL. The engine passes them to its `auth_function`. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly reconnect?: ReconnectOptions | undefined;
  /** Default: JSON lines on stderr on Node, the console in browsers. */
  readonly logger?: Logger | undefined;
}

/** Returns the names of the options of `connectStreams`. `own` are the additional options of the platform. */
export function streamClientOptions(own: readonly string[]): OptionNames {
  return optionNames("connectStreams", ["url", "token", "query", "reconnect", "logger", ...own]);
}

const choiceMembers = optionNames("subscribe", ["streamName", "groupId", "id"]);
const groupMembers = optionNames("collection", ["streamName", "groupId"]);
const handlerMembers = optionNames("subscribe", ["onSync", "onEvent", "onGap", "onError", "onStatus"]);
const collectionOptions = optionNames("collection", ["onChange", "idOf", "onGap", "onError", "onStatus"]);

/** Platform-specific parts of a client. */
export interface StreamPlatform {
  readonly openSocket: OpenSocket;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: (() => number) | undefined;
}

/**
 * A connection to the engine's streams. When it is lost, the client reconnects, and continues the subscriptions at the
 * event where they stopped. Created by `connectStreams`.
 */
export class StreamClient {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #host: SubscriptionHost;
  readonly #liveness: LivenessCheck;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #stateListeners = new Listeners<[state: ConnectionState]>();
  #lastName = 0;
  #epoch: string | undefined;
  #isClosed = false;

  /** Internal: `connectStreams` creates clients. */
  constructor(address: string, options: StreamClientOptions, platform: StreamPlatform) {
    this.#clock = platform.clock;
    this.#logger = safeLogger(options.logger ?? platform.logger);
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
    this.#liveness = new LivenessCheck({
      clock: platform.clock,
      ping: () => this.#send({ type: "ping" }),
      onDead: (silentMs) => this.#connection.drop(`nothing was received from the engine for ${silentMs} ms`),
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

  /**
   * State of the connection. `failed` means that the engine rejected this client (close code 4403), or that no attempts
   * are left.
   */
  get connectionState(): ConnectionState {
    return this.#connection.state;
  }

  /** Calls `listener` on each change of the connection's state. Returns a function that removes the listener. */
  onConnectionState(listener: (state: ConnectionState) => void): () => void {
    return this.#stateListeners.add(listener);
  }

  /**
   * Resolves when the client is connected. Rejects with `disconnected` in three cases: after `timeoutMs` milliseconds
   * (default 30,000); when the client stops trying to connect; when it is closed.
   */
  async connected(options: WaitOptions = {}): Promise<void> {
    const { timeoutMs } = checkedOptions(options, waitOptions("connected"));
    return waitConnected(this.#connection, (listener) => this.onConnectionState(listener), this.#clock, {
      timeoutMs,
      processIsEnding: () => false,
    });
  }

  /**
   * Joins a group of a stream, or one item of the group, now and after each reconnect.
   *
   * @throws TypeError for an invalid name and for unknown members. CallError `draining` after `close`.
   */
  subscribe<Item = unknown>(
    choice: StreamChoice & { readonly id: string },
    handlers: ItemHandlers<Item>,
  ): StreamSubscription;
  subscribe<Item = unknown>(
    choice: StreamChoice & { readonly id?: undefined },
    handlers: GroupHandlers<Item>,
  ): StreamSubscription;
  subscribe(
    choice: StreamChoice & { readonly id?: string | undefined },
    handlers: StreamHandlers<never, never>,
  ): StreamSubscription {
    checkedOptions(choice, choiceMembers);
    checkLiteral(handlers, handlerMembers);
    const problem =
      nameRefusal(choice.streamName, "streamName") ?? nameRefusal(choice.groupId, "groupId") ?? itemProblem(choice.id);
    if (problem !== undefined) throw new TypeError(problem);
    if (this.#isClosed) throw new CallError("draining", "the client was closed; nothing can be joined any more");
    const name = `s${++this.#lastName}`;
    // The cast is safe, because both signatures bind the handlers' types to the types that the author declares.
    const subscription = new Subscription(name, choice, handlers as StreamHandlers<unknown, unknown>, this.#host);
    this.#subscriptions.set(name, subscription);
    if (this.connectionState === "failed") subscription.fail(notConnected(this.#connection, "gave up connecting to"));
    else if (this.#epoch !== undefined) subscription.join();
    return subscription;
  }

  /** Joins a group and stores a current copy of its items by id. */
  collection<Item = unknown>(choice: StreamChoice, options: CollectionOptions<Item> = {}): StreamCollection<Item> {
    checkedOptions(choice, groupMembers);
    checkLiteral(options, collectionOptions);
    return new StreamCollection<Item>(
      (handlers) => this.subscribe<Item>({ streamName: choice.streamName, groupId: choice.groupId }, handlers),
      options,
    );
  }

  /** Leaves all subscriptions and closes the connection. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const subscription of [...this.#subscriptions.values()]) subscription.leave();
    await this.#connection.stop();
    this.#liveness.stop();
  }

  #onOpened(): void {
    this.#liveness.start();
    this.#send({ type: "hello", data: { version: 1 } });
  }

  #onMessage(text: string): void {
    this.#liveness.received();
    const message = readInbound(text);
    if (message === undefined) {
      this.#logger.warn("the engine sent an invalid stream message", { bytes: text.length });
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
      for (const { subscriptionId, seq } of message.positions) this.#subscriptions.get(subscriptionId)?.advanceTo(seq);
      return;
    }
    const subscription =
      message.subscriptionId === undefined ? undefined : this.#subscriptions.get(message.subscriptionId);
    if (message.type === "joined") subscription?.joined(message.resumed);
    else if (message.type === "gap") subscription?.missed(message.gap);
    else if (message.subscriptionId !== undefined) subscription?.refused(new CallError(message.code, message.message));
    else this.#onError(message.code, message.message);
  }

  /** Handles an error that belongs to no subscription. */
  #onError(code: string, message: string): void {
    this.#logger.error("the engine rejected a message of the stream client", { code, reason: message });
    // Without a welcome, no message would ever arrive, so the connection is dropped. After the reconnect, another
    // engine may accept the hello.
    if (this.#epoch === undefined) this.#connection.drop(`the engine rejected the hello: ${message}`);
  }

  #onLost(): void {
    this.#epoch = undefined;
    this.#liveness.stop();
    for (const subscription of [...this.#subscriptions.values()]) subscription.lost();
  }

  #onState(state: ConnectionState): void {
    if (state === "failed") {
      const error = notConnected(this.#connection, "gave up connecting to");
      for (const subscription of [...this.#subscriptions.values()]) subscription.fail(error);
    }
    this.#stateListeners.notify([state], (error) =>
      this.#logger.error("a connection state listener failed", { state, error }),
    );
  }

  #send(message: Readonly<Record<string, unknown>>): void {
    this.#connection.send(JSON.stringify(message));
  }
}

/**
 * Checks the names of an object literal. An object of a class is not checked, because it may have members other than
 * handlers.
 */
function checkLiteral(handlers: object, names: OptionNames): void {
  if (Object.getPrototypeOf(handlers) === Object.prototype) checkedOptions(handlers, names);
}

function itemProblem(id: unknown): string | undefined {
  if (id === undefined || (typeof id === "string" && id !== "" && id.length <= MAX_ITEM_ID)) return undefined;
  return `id must be a string of 1 to ${MAX_ITEM_ID} characters`;
}
