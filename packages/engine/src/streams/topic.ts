import type { StreamEvent, StreamJoin, StreamSource } from "../kernel/stream-contract.ts";
import { type NumberedEvent, OutgoingEvent } from "./event-message.ts";
import { EventRing } from "./event-ring.ts";

/** A connection that receives events for its subscriptions. */
export interface Receiver {
  /** `subscriptions` are the live subscriptions of this receiver that the event is for. There is at least one. */
  deliver(event: OutgoingEvent, subscriptions: readonly Subscription[]): void;
}

/**
 * `asking`: the source is deciding about the join. `opening`: waits for its snapshot or missed events. `live`: gets
 * each event.
 */
export type SubscriptionState = "asking" | "opening" | "live" | "ended";

/** A subscription of one connection. */
export class Subscription {
  readonly join: StreamJoin;
  readonly receiver: Receiver;
  /** The subscription id as JSON. */
  readonly idJson: string;
  /** Admits the subscription and is notified of its end; undefined for a system stream. */
  readonly source: StreamSource | undefined;
  state: SubscriptionState = "asking";
  /** True if the source has admitted the subscription and must be notified of its end. */
  admitted = false;
  /** Set while the subscription is added to a topic. */
  topic: Topic | undefined;

  constructor(join: StreamJoin, receiver: Receiver, source: StreamSource | undefined) {
    this.join = join;
    this.receiver = receiver;
    this.source = source;
    this.idJson = JSON.stringify(join.subscriptionId);
  }

  get hasEnded(): boolean {
    return this.state === "ended";
  }

  /** Returns whether an event of the group is for this subscription. */
  matches({ id }: StreamEvent): boolean {
    return this.join.id === undefined || this.join.id === id;
  }
}

/** One group of a stream: sequence numbers, latest events and subscribers. */
export class Topic {
  readonly stream: string;
  readonly group: string;
  /** Number of the latest event. */
  seq: number;
  /**
   * The latest sequence number without an event. At that time something may have changed, so content that was read
   * before may lack a change.
   */
  skippedTo = 0;
  readonly #members = new Map<Receiver, Set<Subscription>>();
  #subscribers = 0;
  /** Created for the first subscription, because before it no client has a sequence number to resume from. */
  #ring: EventRing | undefined;

  constructor(stream: string, group: string, seq: number) {
    this.stream = stream;
    this.group = group;
    this.seq = seq;
  }

  /** Number of subscriptions, including those that wait for their first message. */
  get subscribers(): number {
    return this.#subscribers;
  }

  /** Approximate memory of buffered events, in bytes. */
  get keptBytes(): number {
    return this.#ring?.heldBytes ?? 0;
  }

  add(subscription: Subscription): void {
    this.#ring ??= new EventRing(this.seq);
    let own = this.#members.get(subscription.receiver);
    if (own === undefined) {
      own = new Set();
      this.#members.set(subscription.receiver, own);
    }
    own.add(subscription);
    this.#subscribers++;
  }

  remove(subscription: Subscription): void {
    const own = this.#members.get(subscription.receiver);
    if (own?.delete(subscription) !== true) return;
    if (own.size === 0) this.#members.delete(subscription.receiver);
    this.#subscribers--;
  }

  /** Numbers the event and buffers it for clients that resume. */
  append(event: StreamEvent, timestamp: number): NumberedEvent {
    this.seq++;
    const { id, type, json, version } = event;
    // Use the strings of the topic, so that all events share them and do not keep copies.
    const { stream, group } = this;
    const numbered: NumberedEvent = {
      stream,
      group,
      id,
      type,
      json,
      version,
      seq: this.seq,
      timestamp,
      bytes: Buffer.byteLength(json),
    };
    this.#ring?.push(numbered);
    return numbered;
  }

  /** Advances the sequence number without an event, because something may have changed without an event. */
  skip(): void {
    this.seq++;
    this.skippedTo = this.seq;
    this.#ring?.skip();
  }

  /** Returns the events after sequence number `seq`; undefined if some of them are no longer buffered. */
  after(seq: number): readonly NumberedEvent[] | undefined {
    return this.#ring?.after(seq);
  }

  /** Discards the buffered events. */
  forgetEvents(): void {
    this.#ring?.clear();
  }

  subscriptions(): Subscription[] {
    return [...this.#members.values()].flatMap((own) => [...own]);
  }

  /** Delivers the event to live subscriptions. */
  fanOut(event: NumberedEvent): void {
    if (this.#members.size === 0) return;
    const outgoing = new OutgoingEvent(event);
    for (const [receiver, own] of this.#members) {
      const matching: Subscription[] = [];
      for (const subscription of own)
        if (subscription.state === "live" && subscription.matches(event)) matching.push(subscription);
      if (matching.length > 0) receiver.deliver(outgoing, matching);
    }
  }
}
