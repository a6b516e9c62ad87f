import type { StreamEvent } from "../kernel/stream-contract.ts";
import { type Subscription, Topic } from "./topic.ts";

/** Maximum number of groups without subscribers. Above it, the groups with the oldest last event are removed. */
const MAX_QUIET_TOPICS = 10_000;
/**
 * Maximum approximate memory of the buffered events of all groups, in bytes. Above it, the buffers of the groups with
 * the oldest last event are cleared.
 */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

/** All groups that have subscribers or had an event recently. */
export class Topics {
  readonly #byStream = new Map<string, Map<string, Topic>>();
  /** All topics, in the order of their last event. */
  readonly #byUse = new Set<Topic>();
  #subscribed = 0;
  #keptBytes = 0;
  /**
   * At least the highest sequence number of all removed topics. New topics start with this number, so that the numbers
   * of a group are never used twice.
   */
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

  /** Numbers the event, buffers it for clients that resume, and sends it to subscribers. Returns its number. */
  publish(event: StreamEvent, timestamp: number): number {
    const topic = this.#open(event.stream, event.group);
    const numbered = this.#use(topic, () => topic.append(event, timestamp));
    topic.fanOut(numbered);
    this.#evict();
    return numbered.seq;
  }

  /** Advances the sequence number of a group without an event, so that no client resumes from an earlier number. */
  skip(stream: string, group: string): Topic {
    const topic = this.#open(stream, group);
    this.#use(topic, () => topic.skip());
    this.#evict();
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

  /** Adds a subscription to its topic. */
  subscribe(subscription: Subscription): void {
    const topic = this.#open(subscription.join.stream, subscription.join.group);
    topic.add(subscription);
    if (topic.subscribers === 1) this.#subscribed++;
    subscription.topic = topic;
  }

  /**
   * Removes a subscription. `forget`: true for a stream whose events are not numbered while it has no subscribers. When
   * its last subscriber leaves, its sequence numbers are discarded.
   */
  unsubscribe(subscription: Subscription, options: { readonly forget: boolean }): void {
    const { topic } = subscription;
    if (topic === undefined) return;
    subscription.topic = undefined;
    topic.remove(subscription);
    if (topic.subscribers > 0) return;
    this.#subscribed--;
    if (options.forget) this.forget(topic);
    else this.#evict();
  }

  /** Discards the sequence numbers of a group without subscribers. A client that resumes later gets a snapshot. */
  forget(topic: Topic): void {
    topic.seq++;
    this.#remove(topic);
  }

  /** Evicts down to 90 % of the limits, so that not every event causes an eviction. */
  #evict(): void {
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
