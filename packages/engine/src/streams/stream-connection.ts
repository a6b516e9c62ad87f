import { randomUUID } from "node:crypto";
import type { CallError, Frame } from "@svc-runtime/protocol";
import type { StreamSource } from "../kernel/stream-contract.ts";
import { authenticate } from "./authenticate.ts";
import { type ClientMessage, readClientMessage } from "./client-message.ts";
import { CLOSE } from "./close-codes.ts";
import type { OutgoingEvent } from "./event-message.ts";
import { Joins } from "./joins.ts";
import { MessageBudget } from "./message-budget.ts";
import { Outbox, type RealtimeSocket } from "./outbox.ts";
import { heartbeat, PONG, problem, welcome } from "./server-messages.ts";
import type { StreamParts } from "./stream-parts.ts";
import type { StreamPath } from "./stream-path.ts";
import type { MessageFacts } from "./tap.ts";
import type { Receiver, Subscription } from "./topic.ts";

/** A plain client is disconnected after this many malformed messages. */
const MAX_MALFORMED = 100;
/** Maximum number of messages that wait for the authentication. */
const MAX_WAITING_MESSAGES = 200;
const MAX_WAITING_CHARS = 256 * 1024;

/** One client of the real-time listener: authentication, incoming messages and deliveries. */
export class StreamConnection implements Receiver {
  readonly id = randomUUID();
  readonly #parts: StreamParts;
  readonly #socket: RealtimeSocket;
  readonly #outbox: Outbox;
  readonly #joins: Joins;
  readonly #budget: MessageBudget;
  readonly #onEnd: (connection: StreamConnection) => void;
  /** Undefined until the client is authenticated. */
  #admitted: { readonly context: unknown; readonly systemStreams: boolean } | undefined;
  readonly #waiting: string[] = [];
  #waitingChars = 0;
  #isExtended = false;
  #hasSpoken = false;
  #malformed = 0;
  #ended = false;

  constructor(parts: StreamParts, socket: RealtimeSocket, onEnd: (connection: StreamConnection) => void) {
    this.#parts = parts;
    this.#socket = socket;
    this.#onEnd = onEnd;
    this.#budget = new MessageBudget(parts.clock);
    this.#outbox = new Outbox({
      connectionId: this.id,
      socket,
      clock: parts.clock,
      tap: parts.tap,
      onStalled: (reason) => this.close(CLOSE.tooSlow, reason),
    });
    this.#joins = new Joins({
      parts,
      outbox: this.#outbox,
      receiver: this,
      isExtended: () => this.#isExtended,
      close: (code, reason) => this.close(code, reason),
    });
  }

  get isTrusted(): boolean {
    return this.#socket.client.trusted;
  }

  get isExtended(): boolean {
    return this.#isExtended;
  }

  /** Starts to serve the client. */
  start(path: StreamPath): void {
    this.#socket.onMessage((text) => this.#receive(text));
    this.#socket.onClose(() => this.#end());
    const source = this.#parts.source();
    if (this.isTrusted || source?.authenticate === undefined) {
      this.#admit({ context: null, systemStreams: true }, path);
      return;
    }
    this.#authenticate(source, path).catch((error: unknown) => {
      this.#parts.log.error("a stream connection could not be served", { error });
      this.close(CLOSE.internal, "the engine failed; its log has the reason");
    });
  }

  deliver(event: OutgoingEvent, subscriptions: readonly Subscription[]): void {
    if (this.#outbox.isFull) {
      if (!this.#isExtended) this.close(CLOSE.tooSlow, "the client is too slow");
      else for (const subscription of subscriptions) this.#joins.fellBehind(subscription, event.event.seq - 1);
    } else if (this.#isExtended) {
      const [first] = subscriptions as [Subscription];
      const ids = subscriptions.length === 1 ? first.idJson : subscriptions.map(({ idJson }) => idJson).join(",");
      this.#outbox.send(event.extended(ids), event.event);
    } else {
      // The published protocol has one message for each subscription.
      for (let sent = 0; sent < subscriptions.length; sent++) this.#outbox.send(event.plain, event.event);
    }
  }

  /** Sends an extended client a heartbeat with the position of each subscription. */
  beat(now: number): void {
    if (this.#outbox.isFull) return;
    const live = this.#joins.all().filter(({ state }) => state === "live");
    this.#reply(heartbeat(now, live), "heartbeat");
  }

  /** Sends a snapshot, because something may have changed without an event after `since`. */
  resync(subscription: Subscription, since: number): void {
    this.#joins.resync(subscription, since);
  }

  drop(subscription: Subscription, error: CallError): void {
    this.#joins.drop(subscription, error);
  }

  /** Returns true if this source has admitted one of the subscriptions, or is deciding about one of them. */
  uses(source: StreamSource): boolean {
    return this.#joins.all().some((subscription) => subscription.source === source);
  }

  /** Closes the connection after the provider of the user-defined streams or its authentication has changed. */
  restart(): void {
    this.close(CLOSE.restart, "the provider of the streams has changed; reconnect");
  }

  close(code: number, reason: string): void {
    if (this.#ended) return;
    this.#socket.close(code, reason);
    this.#end();
  }

  async #authenticate(source: StreamSource, path: StreamPath): Promise<void> {
    const answer = await authenticate(source, this.#socket.client, this.#parts.clock);
    if (this.#ended) return;
    if (answer.ok) {
      this.#admit(answer, path);
      return;
    }
    const { code, reason } = answer;
    this.#parts.log.warn("a stream connection was refused", {
      code,
      reason,
      remoteAddress: this.#socket.client.address,
      error: answer.problem,
    });
    this.close(code, reason);
  }

  #admit(admitted: { readonly context: unknown; readonly systemStreams: boolean }, path: StreamPath): void {
    const { context, systemStreams } = admitted;
    this.#admitted = { context, systemStreams };
    if (path.join !== undefined) this.#joins.join({ ...path.join, context }, { since: undefined, systemStreams });
    for (const text of this.#waiting.splice(0)) this.#receive(text);
  }

  #receive(text: string): void {
    if (this.#ended || text.trim() === "") return;
    if (this.#admitted === undefined) {
      this.#wait(text);
      return;
    }
    const message = readClientMessage(text);
    const { tap } = this.#parts;
    if (tap.isWatched) tap.inbound(this.id, text, this.#factsOf(message));
    const isFirst = !this.#hasSpoken;
    this.#hasSpoken = true;
    if (!this.#budget.take()) {
      this.#closeAsFlooding("the client sends too many messages");
      return;
    }
    const { context, systemStreams } = this.#admitted;
    switch (message.type) {
      case "hello":
        if (isFirst) this.#greet();
        else this.#malformedMessage("hello must be the first message, once");
        break;
      case "ping":
        if (this.#isExtended) this.#reply(PONG, "pong");
        else this.#malformedMessage("ping is for clients that said hello");
        break;
      case "join": {
        const { subscriptionId, streamName: stream, groupId: group, id, since } = message.data;
        this.#joins.join(
          { subscriptionId, stream, group, id: id ?? undefined, context },
          { since: since ?? undefined, systemStreams },
        );
        break;
      }
      case "leave":
        this.#joins.leave(message.data.subscriptionId);
        break;
      case "malformed":
        this.#malformedMessage(message.problem);
    }
  }

  #wait(text: string): void {
    this.#waitingChars += text.length;
    if (this.#waiting.length >= MAX_WAITING_MESSAGES || this.#waitingChars > MAX_WAITING_CHARS) {
      this.#closeAsFlooding("too many messages before the client is authenticated");
    } else {
      this.#waiting.push(text);
    }
  }

  #greet(): void {
    this.#isExtended = true;
    this.#reply(welcome(this.id, this.#parts.epoch), "welcome");
  }

  #malformedMessage(text: string): void {
    this.#malformed++;
    if (this.#isExtended) this.#reply(problem("invalid_message", text), "error");
    else if (this.#malformed >= MAX_MALFORMED) this.close(CLOSE.policy, text);
  }

  #closeAsFlooding(reason: string): void {
    if (this.#isExtended) this.#reply(problem("rate_limited", reason), "error");
    this.close(CLOSE.policy, reason);
  }

  #reply(frame: Frame, type: string): void {
    this.#outbox.reply(frame, { stream: null, group: null, type });
  }

  #factsOf(message: ClientMessage | { readonly type: "malformed" }): MessageFacts {
    const { type } = message;
    if (type === "join") return { stream: message.data.streamName, group: message.data.groupId, type };
    const join = type === "leave" ? this.#joins.find(message.data.subscriptionId)?.join : undefined;
    return { stream: join?.stream ?? null, group: join?.group ?? null, type };
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#outbox.end();
    this.#waiting.length = 0;
    this.#joins.endAll();
    this.#onEnd(this);
  }
}
