import type { Payload } from "@svc-runtime/protocol";
import { DeliveryQueue } from "../../deliveries/delivery-queue.ts";
import { TriggerFailureReport } from "../../deliveries/trigger-failure-report.ts";
import { addTrigger, inSpan } from "../../deliveries/trigger-span.ts";
import type { CallOptions, ModuleContext, Quota, TriggerBinding } from "../../kernel/module.ts";
import type { EventConfig } from "./config.ts";
import { subscribeRefusal } from "./subscribe-refusal.ts";
import type { TopicCounts } from "./topic-counts.ts";
import type { SubscriptionSettings } from "./trigger-settings.ts";

/** Maximum publishers whose events one trigger handles concurrently. */
const MAX_PARALLEL_PUBLISHERS = 16;
/** Estimated size of an event without its data, in bytes. */
const EVENT_OVERHEAD_BYTES = 300;

/** A published event, shared by all subscriptions that get it. */
export interface PublishedEvent {
  readonly topic: string;
  readonly data: Payload;
  /** Events with the same value are delivered in order. The value stands for a publisher or for an item of state. */
  readonly publisher: string;
  /** True for a change of state. */
  readonly isState: boolean;
  /** Options of the calls: trace context and topic. */
  readonly call: Pick<CallOptions, "traceparent" | "baggage" | "metadata">;
}

/** One trigger and its queue of events. It is independent of other subscriptions. */
export class Subscription {
  readonly pattern: SubscriptionSettings["pattern"];
  readonly #queue: DeliveryQueue<PublishedEvent>;
  readonly #notes: TriggerFailureReport;

  constructor(
    binding: TriggerBinding<SubscriptionSettings>,
    type: string,
    {
      context,
      counts,
      config,
      quota,
    }: {
      readonly context: Pick<ModuleContext<unknown>, "clock" | "log" | "telemetry">;
      readonly counts: TopicCounts;
      readonly config: () => EventConfig;
      /** Quota of the waiting bytes of all subscriptions. */
      readonly quota: Quota;
    },
  ) {
    this.pattern = binding.settings.pattern;
    const notes = new TriggerFailureReport(binding, type, context);
    this.#notes = notes;
    const trigger = { type, id: binding.id };
    this.#queue = new DeliveryQueue<PublishedEvent>({
      deliver: async ({ topic, data, call, isState }) => {
        // Events are not delivered while the subscriber is disconnected. Its rights are checked again, because they may
        // have changed.
        if (binding.isAway || subscribeRefusal(binding, isState) !== undefined) return;
        const attributes = {
          "messaging.system": "svc",
          "messaging.operation.type": "process",
          "messaging.destination.name": topic,
        };
        await inSpan(
          context.telemetry,
          {
            name: `event ${topic}`,
            kind: "consumer",
            traceparent: call.traceparent,
            baggage: call.baggage,
            attributes: addTrigger(attributes, "event", trigger),
          },
          async ({ traceparent }) => {
            const options = { ...call, traceparent };
            if (await binding.passes(data, options)) await binding.fire(data, options);
          },
        );
        notes.succeeded();
      },
      onFailed: ({ topic }, error) => {
        counts.failed(topic);
        notes.failed(error);
      },
      onDropped: ({ topic }) => {
        counts.dropped(topic);
        notes.dropped();
      },
      get maxWaiting() {
        return config().maxWaitingEvents;
      },
      get maxBytes() {
        return config().maxWaitingBytes;
      },
      quota,
      principal: () => binding.principal,
      maxParallel: MAX_PARALLEL_PUBLISHERS,
    });
  }

  /** Queues the event for delivery. Returns false if the queue is full. */
  enqueue(event: PublishedEvent): boolean {
    return this.#queue.push(event.publisher, event, event.data.text().length + EVENT_OVERHEAD_BYTES);
  }

  /** Drops waiting events. Deliveries in progress finish. */
  stop(): void {
    this.#queue.clear();
    this.#notes.stop();
  }
}
