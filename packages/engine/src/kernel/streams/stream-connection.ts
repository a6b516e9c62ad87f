import { randomUUID } from "node:crypto";
import { CallError, type Frame } from "@svc/protocol";
import type { StreamJoin, StreamSource } from "../stream-contract.ts";
import { authenticate } from "./authenticate.ts";
import { type ClientMessage, readClientMessage } from "./client-message.ts";
import { MessageBudget } from "./message-budget.ts";
import type { OutgoingEvent } from "./numbered-event.ts";
import { Opener, type Since } from "./opener.ts";
import { Outbox } from "./outbox.ts";
import type { RealtimeSocket } from "./realtime-socket.ts";
import { heartbeat, left, PONG, problem, unauthorized, welcome } from "./server-messages.ts";
import { CLOSE, MAX_SUBSCRIPTIONS } from "./stream-codes.ts";
import type { StreamParts } from "./stream-parts.ts";
import { type readStreamPath, SYSTEM_GROUP, SYSTEM_PREFIX } from "./stream-path.ts";
import { Subscription } from "./subscription.ts";
import type { MessageFacts } from "./tap.ts";
import type { Receiver } from "./topic.ts";
import { within } from "./within.ts";

/** What a plain client may say that nobody understands, before it is closed. */
const MAX_MALFORMED = 100;
/** What may wait until it is known who the client is. */
const MAX_WAITING_MESSAGES = 200;
const MAX_WAITING_CHARS = 256 * 1024;
/** How long a source may think about a join, in milliseconds; sources have shorter deadlines of their own. */
const ADMIT_DEADLINE_MS = 30_000;
/** Joins that are being decided, those that were replaced or left meanwhile included. */
const MAX_DECIDING = MAX_SUBSCRIPTIONS;

/** One client of the real-time listener: what it says, and what becomes of it. */
export class StreamConnection implements Receiver {
  readonly id = randomUUID();
  readonly #parts: StreamParts;
  readonly #socket: RealtimeSocket;
  readonly #outbox: Outbox;
  readonly #opener: Opener;
  readonly #budget: MessageBudget;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #onEnd: (connection: StreamConnection) => void;
  /** Undefined until it is known who the client is. */
  #admitted: { readonly context: unknown; readonly systemStreams: boolean } | undefined;
  readonly #waiting: string[] = [];
  #waitingChars = 0;
  #isExtended = false;
  #hasSpoken = false;
  #malformed = 0;
  #deciding = 0;
  #ended = false;

  constructor(parts: StreamParts, socket: RealtimeSocket, onEnd: (connection: StreamConnection) => void) {
    this.#parts = parts;
    this.#socket = socket;
    this.#onEnd = onEnd;
    this.#budget = new MessageBudget(parts.clock);
    this.#outbox = new Outbox({ connectionId: this.id, socket, clock: parts.clock, tap: parts.tap });
    this.#opener = new Opener({
      parts,
      outbox: this.#outbox,
      isExtended: () => this.#isExtended,
      failed: (subscription, error) => this.#openingFailed(subscription, error),
    });
  }

  get isTrusted(): boolean {
    return this.#socket.client.trusted;
  }

  get isExtended(): boolean {
    return this.#isExtended;
  }

  /** Begins to serve it. `path`: what its path asks for. */
  start(path: ReturnType<typeof readStreamPath>): void {
    this.#socket.onMessage((text) => this.#receive(text));
    this.#socket.onClose(() => this.#end());
    const { client } = this.#socket;
    const source = this.#parts.source();
    if (client.trusted || source?.authenticate === undefined) this.#admit({ context: null, systemStreams: true }, path);
    else this.#authenticate(source, path).catch((error: unknown) => this.#crash(error));
  }

  deliver(event: OutgoingEvent, subscriptions: readonly Subscription[]): void {
    if (this.#outbox.isFull) {
      if (!this.#isExtended) this.close(CLOSE.tooSlow, "the client does not keep up");
      else for (const subscription of subscriptions) this.#opener.reopen(subscription, event.event.seq - 1);
    } else if (this.#isExtended) {
      const [first] = subscriptions as [Subscription];
      const ids = subscriptions.length === 1 ? first.idJson : subscriptions.map(({ idJson }) => idJson).join(",");
      this.#outbox.send(event.extended(ids), event.event);
    } else {
      // The published protocol has one message for each subscription.
      for (let sent = 0; sent < subscriptions.length; sent++) this.#outbox.send(event.plain, event.event);
    }
  }

  beat(now: number): void {
    if (this.#outbox.isFull) return;
    const live = [...this.#subscriptions.values()].filter(({ state }) => state === "live");
    this.#say(heartbeat(now, live), "heartbeat");
  }

  /** Ends a subscription that the engine can no longer serve. */
  drop(subscription: Subscription, error: CallError): void {
    this.#forget(subscription);
    if (this.#isExtended) this.#refuse(error.code, error.message, subscription.join);
  }

  /** True when it has a subscription that this source admitted, or is asked about. */
  uses(source: StreamSource): boolean {
    return [...this.#subscriptions.values()].some((subscription) => subscription.source === source);
  }

  /** Who keeps the user-defined streams, or who may join them, is another now. The engine's own token stays good. */
  restart(): void {
    this.close(CLOSE.restart, "the keeper of the streams has changed; connect again");
  }

  close(code: number, reason: string): void {
    this.#outbox.close(code, reason);
    this.#end();
  }

  async #authenticate(source: StreamSource, path: ReturnType<typeof readStreamPath>): Promise<void> {
    const answer = await authenticate(source, this.#socket.client, this.#parts.clock);
    if (this.#ended) return;
    if (answer.ok) {
      this.#admit(answer, path);
      return;
    }
    const { code, reason } = answer;
    this.#parts.log.warn("a stream connection was refused", { code, reason, remoteAddress: this.#socket.client.address, error: answer.problem });
    this.close(code, reason);
  }

  #admit({ context, systemStreams }: { context: unknown; systemStreams: boolean }, path: ReturnType<typeof readStreamPath>): void {
    this.#admitted = { context, systemStreams };
    if (path?.join !== undefined) this.#join({ ...path.join, context }, undefined);
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
      this.#floods("more messages than a client may send");
      return;
    }
    switch (message.type) {
      case "hello":
        if (isFirst) this.#greet();
        else this.#malformedMessage("hello must be the first message, once");
        break;
      case "ping":
        if (this.#isExtended) this.#say(PONG, "pong");
        else this.#malformedMessage("ping is for clients that said hello");
        break;
      case "join": {
        const { subscriptionId, streamName: stream, groupId: group, id, since } = message.data;
        this.#join({ subscriptionId, stream, group, id: id ?? undefined, context: this.#admitted.context }, since ?? undefined);
        break;
      }
      case "leave":
        this.#leave(message.data.subscriptionId);
        break;
      case "malformed":
        this.#malformedMessage(message.problem);
    }
  }

  #wait(text: string): void {
    this.#waitingChars += text.length;
    if (this.#waiting.length >= MAX_WAITING_MESSAGES || this.#waitingChars > MAX_WAITING_CHARS)
      this.#floods("too many messages before it is known who the client is");
    else this.#waiting.push(text);
  }

  #greet(): void {
    this.#isExtended = true;
    this.#say(welcome(this.id, this.#parts.epoch), "welcome");
  }

  #join(join: StreamJoin, since: Since | undefined): void {
    this.#replace(join.subscriptionId);
    const source = join.stream.startsWith(SYSTEM_PREFIX) ? undefined : this.#parts.source();
    const refusal = this.#refusalOf(join, source);
    if (refusal !== undefined) {
      this.#refuse(refusal.code, refusal.message, join);
      return;
    }
    const subscription = new Subscription(join, this, source);
    this.#subscriptions.set(join.subscriptionId, subscription);
    if (source === undefined) this.#subscribe(subscription, since);
    else this.#ask(subscription, source, since).catch((error: unknown) => this.#crash(error));
  }

  /** What stands against a join before its source is asked. */
  #refusalOf({ stream, group }: StreamJoin, source: StreamSource | undefined): CallError | undefined {
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS) return new CallError("overloaded", `a connection may have ${MAX_SUBSCRIPTIONS} subscriptions`);
    if (stream.startsWith(SYSTEM_PREFIX)) {
      const { system } = this.#parts;
      if (this.#admitted?.systemStreams !== true) return new CallError("FORBIDDEN", "this connection may not join the engine's own streams");
      if (system.find(stream) !== undefined && group === SYSTEM_GROUP) return undefined;
      return new CallError(
        "NOT_FOUND",
        `there is no stream ${stream} with group ${group}; here are ${system.names.join(", ")}, each with group ${SYSTEM_GROUP}`,
      );
    }
    if (source === undefined)
      return new CallError("NOT_FOUND", "no module keeps user-defined streams; add svc-stream to the config (svc worker add svc-stream)");
    if (this.#deciding >= MAX_DECIDING) return new CallError("overloaded", `${MAX_DECIDING} joins of this connection are being decided already`);
    return undefined;
  }

  async #ask(subscription: Subscription, source: StreamSource, since: Since | undefined): Promise<void> {
    const { join } = subscription;
    this.#deciding++;
    let refusal: string | undefined;
    try {
      const answer = await within(this.#parts.clock, ADMIT_DEADLINE_MS, "deciding over a join", () => source.admit(join));
      refusal = answer?.refusal;
    } catch (error) {
      refusal = `whether the client may join could not be found out: ${(error as Error).message}`;
    } finally {
      this.#deciding--;
    }
    if (refusal !== undefined) {
      if (subscription.hasEnded) return;
      this.#forget(subscription);
      this.#refuse("FORBIDDEN", refusal, join);
      return;
    }
    subscription.admitted = true;
    // It has gone meanwhile, after its source let it in.
    if (subscription.hasEnded) this.#parts.end(subscription);
    else this.#subscribe(subscription, since);
  }

  #subscribe(subscription: Subscription, since: Since | undefined): void {
    this.#parts.subscribe(subscription);
    this.#opener.open(subscription, since);
  }

  #leave(subscriptionId: string): void {
    this.#replace(subscriptionId);
    if (this.#isExtended) this.#say(left(subscriptionId), "left");
  }

  /** Ends the subscription of this name, if there is one. */
  #replace(subscriptionId: string): void {
    const subscription = this.#subscriptions.get(subscriptionId);
    if (subscription !== undefined) this.#forget(subscription);
  }

  #forget(subscription: Subscription): void {
    const { subscriptionId } = subscription.join;
    if (this.#subscriptions.get(subscriptionId) === subscription) this.#subscriptions.delete(subscriptionId);
    this.#parts.end(subscription);
  }

  #openingFailed(subscription: Subscription, error: CallError): void {
    const { stream, group } = subscription.join;
    this.#parts.log.warn("a stream could not be read for a client", { stream, group, code: error.code, reason: error.message });
    if (this.#isExtended) this.drop(subscription, error);
    else this.close(CLOSE.internal, "the stream could not be read");
  }

  /** A join that is not to be. The published protocol has one word for it. */
  #refuse(code: string, text: string, join: StreamJoin): void {
    const { stream, group } = join;
    if (this.#isExtended) this.#outbox.reply(problem(code, text, join.subscriptionId), { stream, group, type: "error" });
    else this.#outbox.reply(unauthorized(join, this.#parts.clock.now()), { stream, group, type: "unauthorized" });
    this.#parts.log.debug("a join was refused", { stream, group, code, reason: text });
  }

  #malformedMessage(text: string): void {
    this.#malformed++;
    if (this.#isExtended) this.#say(problem("invalid_message", text), "error");
    else if (this.#malformed >= MAX_MALFORMED) this.close(CLOSE.policy, text);
  }

  #floods(reason: string): void {
    if (this.#isExtended) this.#say(problem("rate_limited", reason), "error");
    this.close(CLOSE.policy, reason);
  }

  #say(frame: Frame, type: string): void {
    this.#outbox.reply(frame, { stream: null, group: null, type });
  }

  #factsOf(message: ClientMessage | { readonly type: "malformed" }): MessageFacts {
    const { type } = message;
    if (type === "join") return { stream: message.data.streamName, group: message.data.groupId, type };
    const join = type === "leave" ? this.#subscriptions.get(message.data.subscriptionId)?.join : undefined;
    return { stream: join?.stream ?? null, group: join?.group ?? null, type };
  }

  /** A defect of the engine costs this client its connection and nobody else anything. */
  #crash(error: unknown): void {
    this.#parts.log.error("a stream connection could not be served", { error });
    this.close(CLOSE.internal, "the engine failed; its log has the reason");
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#outbox.ended();
    this.#waiting.length = 0;
    for (const subscription of [...this.#subscriptions.values()]) this.#forget(subscription);
    this.#onEnd(this);
  }
}
