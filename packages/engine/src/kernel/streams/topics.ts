import type { StreamEvent } from "../stream-contract.ts";
import type { Subscription } from "./subscription.ts";
import { Topic } from "./topic.ts";

/** Groups without subscribers whose numbers are remembered; beyond it those that were quiet for longest go. */
const MAX_QUIET_TOPICS = 10_000;
/** What all groups keep together for those who come back, in bytes of memory; beyond it the group that was quiet for longest loses what it keeps. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

/** All groups that have subscribers, or had an event lately. */
export class Topics {
  readonly #byStream = new Map<string, Map<string, Topic>>();
  /** In the order of their latest event. */
  readonly #byUse = new Set<Topic>();
  #subscribed = 0;
  #keptBytes = 0;
  /** No number above this was given by a topic that is gone. New ones begin here, so that numbers of a group never repeat. */
  #floor = 0;
  readonly #maxQuiet: number;
  readonly #maxKeptBytes: number;

  constructor(limits: { readonly maxQuiet?: number; readonly maxKeptBytes?: number } = {}) {
    this.#maxQuiet = limits.maxQuiet ?? MAX_QUIET_TOPICS;
    this.#maxKeptBytes = limits.maxKeptBytes ?? MAX_KEPT_BYTES;
  }

  #open(stream: string, group: string): Topic {
    let groups = this.#byStream.get(stream);
    if (groups === undefined) {
      groups = new Map();
      this.#byStream.set(stream, groups);
    }
    let topic = groups.get(group);
    if (topic === undefined) {
      topic = new Topic(stream, group, this.#floor);
      groups.set(group, topic);
      this.#byUse.add(topic);
    }
    return topic;
  }

  groupsOf(stream: string): readonly Topic[] {
    return [...(this.#byStream.get(stream)?.values() ?? [])];
  }

  all(): readonly Topic[] {
    return [...this.#byUse];
  }

  /** Numbers the event, keeps it for those who come back, and hands it out. Answers its number. */
  publish(event: StreamEvent, timestamp: number): number {
    const topic = this.#open(event.stream, event.group);
    const numbered = this.#use(topic, () => topic.append(event, timestamp));
    topic.fanOut(numbered);
    this.#keepBounds();
    return numbered.seq;
  }

  /** Moves the number of a group on without an event, so that nobody resumes across it. */
  skip(stream: string, group: string): Topic {
    const topic = this.#open(stream, group);
    this.#use(topic, () => topic.skip());
    this.#keepBounds();
    return topic;
  }

  #use<Result>(topic: Topic, work: () => Result): Result {
    const keptBefore = topic.keptBytes;
    const result = work();
    this.#keptBytes += topic.keptBytes - keptBefore;
    this.#byUse.delete(topic);
    this.#byUse.add(topic);
    return result;
  }

  /** Takes on a subscription. */
  subscribe(subscription: Subscription): void {
    const topic = this.#open(subscription.join.stream, subscription.join.group);
    topic.add(subscription);
    if (topic.subscribers === 1) this.#subscribed++;
    subscription.topic = topic;
  }

  /** `forget`: nobody numbers events of the group while it has no subscribers, so its numbers end with the last one. */
  unsubscribe(subscription: Subscription, options: { readonly forget: boolean }): void {
    const { topic } = subscription;
    if (topic === undefined) return;
    subscription.topic = undefined;
    topic.remove(subscription);
    if (topic.subscribers > 0) return;
    this.#subscribed--;
    if (options.forget) this.forget(topic);
    else this.#keepBounds();
  }

  /** Ends the numbers of a group without subscribers: who comes back to it starts anew. */
  forget(topic: Topic): void {
    topic.seq++;
    this.#remove(topic);
  }

  /** Goes a tenth below the bounds, so that not every event has to look for what can go. */
  #keepBounds(): void {
    if (this.#keptBytes <= this.#maxKeptBytes && this.#byUse.size - this.#subscribed <= this.#maxQuiet) return;
    for (const topic of this.#byUse) {
      const tooMany = this.#byUse.size - this.#subscribed > this.#maxQuiet * 0.9;
      const tooLarge = this.#keptBytes > this.#maxKeptBytes * 0.9;
      if (!tooMany && !tooLarge) return;
      if (topic.subscribers === 0) {
        this.#remove(topic);
      } else if (tooLarge) {
        this.#keptBytes -= topic.keptBytes;
        topic.forgetEvents();
      }
    }
  }

  #remove(topic: Topic): void {
    this.#floor = Math.max(this.#floor, topic.seq);
    this.#keptBytes -= topic.keptBytes;
    this.#byUse.delete(topic);
    const groups = this.#byStream.get(topic.stream);
    groups?.delete(topic.group);
    if (groups?.size === 0) this.#byStream.delete(topic.stream);
  }
}
