import { type ModuleContext, Quota, type QuotaLimits, type TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { Measurement } from "../../kernel/telemetry-contract.ts";
import type { EventConfig } from "./config.ts";
import { refusalToListen } from "./rights.ts";
import { type PublishedEvent, Subscription } from "./subscription.ts";
import { TopicCounts } from "./topic-counts.ts";
import { TopicIndex } from "./topic-index.ts";
import type { SubscriptionSettings } from "./trigger-settings.ts";

/** One line of `event::list`. */
export interface TopicLine {
  /** A topic, or a pattern that somebody listens to. */
  readonly topic: string;
  readonly subscribers: number;
  readonly published: number;
  readonly failed: number;
  readonly dropped: number;
  readonly last_published_at: string | null;
}

/** Topics that stand for changes of state. */
type IsStateTopic = (topic: string) => boolean;

/** Who listens to what. */
export class Subscriptions {
  readonly #context: Pick<ModuleContext<unknown>, "clock" | "log" | "telemetry">;
  readonly #config: () => EventConfig;
  readonly #isStateTopic: IsStateTopic;
  readonly #index = new TopicIndex<Subscription>();
  /** Patterns and topics that are listened to, with the number of triggers that name them so. */
  readonly #patterns = new Map<string, number>();
  readonly #counts = new TopicCounts();
  readonly #onChange: () => void;
  readonly #waitingBytes: Quota;

  constructor(options: {
    readonly context: Pick<ModuleContext<unknown>, "clock" | "log" | "telemetry">;
    readonly config: () => EventConfig;
    readonly isStateTopic: IsStateTopic;
    /** Somebody listens, or no longer does. */
    readonly onChange: () => void;
  }) {
    this.#context = options.context;
    this.#config = options.config;
    this.#isStateTopic = options.isStateTopic;
    this.#onChange = options.onChange;
    this.#waitingBytes = new Quota("bytes of waiting events", () => shareOf(options.config().maxWaitingBytes));
  }

  /** `type` is the trigger's. Throws CallError `FORBIDDEN`. */
  bind(binding: TriggerBinding<SubscriptionSettings>, type: string): Undo {
    const { pattern, conditionFunctionId } = binding.settings;
    const refusal = refusalToListen(binding, this.#isStateTopic(pattern.text));
    if (refusal !== undefined) throw refusal;
    if (conditionFunctionId !== undefined) binding.needs([conditionFunctionId]);
    const subscription = new Subscription(binding, type, { context: this.#context, counts: this.#counts, config: this.#config, quota: this.#waitingBytes });
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

  /** Hands an event to all who listen. Answers how many took it. */
  publish(event: PublishedEvent): number {
    const { topic } = event;
    this.#counts.published(topic, this.#context.clock.now());
    let taken = 0;
    for (const subscription of this.#index.matching(topic)) if (subscription.take(event)) taken++;
    return taken;
  }

  hasListeners(topic: string): boolean {
    return this.#index.matching(topic).size > 0;
  }

  /** Since the module started. */
  measure(): readonly Measurement[] {
    const { published, failed, dropped } = this.#counts.totals;
    return [
      { name: "svc.event.published", type: "counter", description: "Events that were published", value: published },
      { name: "svc.event.failed", type: "counter", description: "Calls for an event, or of a condition, that failed", value: failed },
      { name: "svc.event.dropped", type: "counter", description: "Events that there was no room for, each counted for each trigger", value: dropped },
    ];
  }

  /** In the order of their names. */
  list(): TopicLine[] {
    const lines: TopicLine[] = [];
    for (const [topic, { published, failed, dropped, lastPublishedAt }] of this.#counts.entries()) {
      const subscribers = this.#index.matching(topic).size;
      lines.push({ topic, subscribers, published, failed, dropped, last_published_at: new Date(lastPublishedAt).toISOString() });
    }
    for (const [topic, named] of this.#patterns) {
      if (this.#counts.has(topic)) continue;
      const subscribers = topic.includes("*") ? named : this.#index.matching(topic).size;
      lines.push({ topic, subscribers, published: 0, failed: 0, dropped: 0, last_published_at: null });
    }
    return lines.sort((a, b) => (a.topic < b.topic ? -1 : 1));
  }

  #count(pattern: string, by: 1 | -1): void {
    const named = (this.#patterns.get(pattern) ?? 0) + by;
    if (named === 0) this.#patterns.delete(pattern);
    else this.#patterns.set(pattern, named);
  }
}

/** Limits the bytes that wait or are being delivered for all triggers of restricted principals. Triggers of trusted ones have a limit each. */
function shareOf(maxWaitingBytes: number): QuotaLimits {
  return { each: maxWaitingBytes, restricted: 8 * maxWaitingBytes };
}
