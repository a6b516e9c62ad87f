import { type ModuleContext, Quota, type QuotaLimits, type TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { Measurement } from "../../kernel/telemetry-contract.ts";
import type { EventConfig } from "./config.ts";
import { subscribeRefusal } from "./subscribe-refusal.ts";
import { type PublishedEvent, Subscription } from "./subscription.ts";
import { TopicCounts } from "./topic-counts.ts";
import { TopicIndex } from "./topic-index.ts";
import type { SubscriptionSettings } from "./trigger-settings.ts";

/** An entry of `event::list`. */
export interface TopicEntry {
  /** A topic, or the pattern of a subscription. */
  readonly topic: string;
  readonly subscribers: number;
  readonly published: number;
  readonly failed: number;
  readonly dropped: number;
  readonly last_published_at: string | null;
}

/** Returns true for topics of changes of state. */
type IsStateTopic = (topic: string) => boolean;

/** All subscriptions, by topic. */
export class Subscriptions {
  readonly #context: Pick<ModuleContext<unknown>, "clock" | "log" | "telemetry">;
  readonly #config: () => EventConfig;
  readonly #isStateTopic: IsStateTopic;
  readonly #index = new TopicIndex<Subscription>();
  /** Topics and patterns of subscriptions, with their number of triggers. */
  readonly #patterns = new Map<string, number>();
  readonly #counts = new TopicCounts();
  readonly #onChange: () => void;
  readonly #waitingBytes: Quota;

  constructor(options: {
    readonly context: Pick<ModuleContext<unknown>, "clock" | "log" | "telemetry">;
    readonly config: () => EventConfig;
    readonly isStateTopic: IsStateTopic;
    /** Called when a subscription is added or removed. */
    readonly onChange: () => void;
  }) {
    this.#context = options.context;
    this.#config = options.config;
    this.#isStateTopic = options.isStateTopic;
    this.#onChange = options.onChange;
    this.#waitingBytes = new Quota("bytes of waiting events", () => shareOf(options.config().maxWaitingBytes));
  }

  /** Subscribes a trigger of type `type`. Throws CallError `FORBIDDEN`. */
  bind(binding: TriggerBinding<SubscriptionSettings>, type: string): Undo {
    const { pattern, conditionFunctionId } = binding.settings;
    const refusal = subscribeRefusal(binding, this.#isStateTopic(pattern.text));
    if (refusal !== undefined) throw refusal;
    if (conditionFunctionId !== undefined) binding.needs([conditionFunctionId]);
    const subscription = new Subscription(binding, type, {
      context: this.#context,
      counts: this.#counts,
      config: this.#config,
      quota: this.#waitingBytes,
    });
    this.#index.add(pattern, subscription);
    this.#count(pattern.text, 1);
    this.#onChange();
    return () => {
      this.#index.remove(pattern, subscription);
      this.#count(pattern.text, -1);
      subscription.stop();
      this.#onChange();
    };
  }

  /** Queues an event for all subscriptions that match. Returns how many accepted it. */
  publish(event: PublishedEvent): number {
    const { topic } = event;
    this.#counts.published(topic, this.#context.clock.now());
    let taken = 0;
    for (const subscription of this.#index.matching(topic)) if (subscription.enqueue(event)) taken++;
    return taken;
  }

  hasSubscribers(topic: string): boolean {
    return this.#index.matching(topic).size > 0;
  }

  /** Returns the counts since the module started. */
  measure(): readonly Measurement[] {
    const { published, failed, dropped } = this.#counts.totals;
    return [
      { name: "svc.event.published", type: "counter", description: "Published events", value: published },
      {
        name: "svc.event.failed",
        type: "counter",
        description: "Failed calls of functions or conditions",
        value: failed,
      },
      {
        name: "svc.event.dropped",
        type: "counter",
        description: "Events dropped because a trigger's queue was full, counted per trigger",
        value: dropped,
      },
    ];
  }

  /** Returns all topics and patterns, sorted by name. */
  list(): TopicEntry[] {
    const entries: TopicEntry[] = [];
    for (const [topic, { published, failed, dropped, lastPublishedAt }] of this.#counts.entries()) {
      const subscribers = this.#index.matching(topic).size;
      entries.push({
        topic,
        subscribers,
        published,
        failed,
        dropped,
        last_published_at: new Date(lastPublishedAt).toISOString(),
      });
    }
    for (const [topic, named] of this.#patterns) {
      if (this.#counts.has(topic)) continue;
      const subscribers = topic.includes("*") ? named : this.#index.matching(topic).size;
      entries.push({ topic, subscribers, published: 0, failed: 0, dropped: 0, last_published_at: null });
    }
    return entries.sort((a, b) => (a.topic < b.topic ? -1 : 1));
  }

  #count(pattern: string, by: 1 | -1): void {
    const named = (this.#patterns.get(pattern) ?? 0) + by;
    if (named === 0) this.#patterns.delete(pattern);
    else this.#patterns.set(pattern, named);
  }
}

/**
 * Returns the limits of the bytes of events that wait or are being delivered for triggers of restricted principals: for
 * each principal, and for all together. Triggers of trusted principals do not share a limit; each has its own.
 */
function shareOf(maxWaitingBytes: number): QuotaLimits {
  return { each: maxWaitingBytes, restricted: 8 * maxWaitingBytes };
}
