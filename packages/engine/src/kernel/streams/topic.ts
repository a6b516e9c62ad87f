import type { StreamEvent } from "../stream-contract.ts";
import { EventRing } from "./event-ring.ts";
import { type NumberedEvent, OutgoingEvent } from "./numbered-event.ts";
import type { Subscription } from "./subscription.ts";

/** Who takes events for its subscriptions: one connection. */
export interface Receiver {
  /** `subscriptions` are those of this receiver that match, all live, at least one. */
  deliver(event: OutgoingEvent, subscriptions: readonly Subscription[]): void;
}

/** One group of one stream: its numbers, its latest events and its subscribers. */
export class Topic {
  readonly stream: string;
  readonly group: string;
  /** Of the latest event. */
  seq: number;
  /** The latest number that no event has; what was read before it was given may lack a change. */
  skippedTo = 0;
  readonly #members = new Map<Receiver, Set<Subscription>>();
  #subscribers = 0;
  /** Kept from the first subscription on: before it nobody can have a number to come back with. */
  #ring: EventRing | undefined;

  constructor(stream: string, group: string, seq: number) {
    this.stream = stream;
    this.group = group;
    this.seq = seq;
  }

  /** Subscriptions, those that still wait for their first message included. */
  get subscribers(): number {
    return this.#subscribers;
  }

  /** Of memory, about. */
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

  /** Numbers the event and keeps it for those who come back. */
  append(event: StreamEvent, timestamp: number): NumberedEvent {
    this.seq++;
    const { id, type, json, version } = event;
    // The names of the topic, so that not every event holds names of its own.
    const { stream, group } = this;
    const numbered: NumberedEvent = { stream, group, id, type, json, version, seq: this.seq, timestamp, bytes: Buffer.byteLength(json) };
    this.#ring?.push(numbered);
    return numbered;
  }

  /** Moves the number on without an event: something may have changed that no event tells of. */
  skip(): void {
    this.seq++;
    this.skippedTo = this.seq;
    this.#ring?.skip();
  }

  /** What came after that number; undefined when not all of it is kept. */
  after(seq: number): readonly NumberedEvent[] | undefined {
    return this.#ring?.after(seq);
  }

  /** Gives up what is kept for those who come back. */
  forgetEvents(): void {
    this.#ring?.clear();
  }

  subscriptions(): Subscription[] {
    return [...this.#members.values()].flatMap((own) => [...own]);
  }

  /** Hands the event to who is live. */
  fanOut(event: NumberedEvent): void {
    if (this.#members.size === 0) return;
    const outgoing = new OutgoingEvent(event);
    for (const [receiver, own] of this.#members) {
      const matching: Subscription[] = [];
      for (const subscription of own) if (subscription.state === "live" && subscription.matches(event)) matching.push(subscription);
      if (matching.length > 0) receiver.deliver(outgoing, matching);
    }
  }
}
