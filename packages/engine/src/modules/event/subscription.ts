import type { Payload } from "@svc/protocol";
import { DeliveryQueue } from "../../deliveries/delivery-queue.ts";
import { FailureNotes } from "../../deliveries/failure-notes.ts";
import { inSpan, occasion } from "../../deliveries/in-span.ts";
import type { CallOptions, ModuleContext, Quota, TriggerBinding } from "../../kernel/module.ts";
import type { EventConfig } from "./config.ts";
import { refusalToListen } from "./rights.ts";
import type { TopicCounts } from "./topic-counts.ts";
import type { SubscriptionSettings } from "./trigger-settings.ts";

/** Publishers whose events one trigger handles at once. */
const MAX_PARALLEL_PUBLISHERS = 16;
/** What an event weighs besides its data, in bytes. */
const EVENT_OVERHEAD_BYTES = 300;

/** One event on its way; shared by all who are told of it. */
export interface PublishedEvent {
  readonly topic: string;
  readonly data: Payload;
  /** Whose events keep their order: one publisher's do, and those of one item of state. */
  readonly publisher: string;
  /** It tells of a change of state. */
  readonly isState: boolean;
  /** Trace and topic, for the calls. */
  readonly call: Pick<CallOptions, "traceparent" | "baggage" | "metadata">;
}

/** One trigger and what waits for it. It stands and fails alone: nothing here is shared with other subscribers. */
export class Subscription {
  readonly pattern: SubscriptionSettings["pattern"];
  readonly #queue: DeliveryQueue<PublishedEvent>;
  readonly #notes: FailureNotes;

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
      /** Of the bytes that wait for all subscriptions. */
      readonly quota: Quota;
    },
  ) {
    this.pattern = binding.settings.pattern;
    const notes = new FailureNotes(binding, type, context);
    this.#notes = notes;
    const facts = occasion("event", { type, id: binding.id });
    this.#queue = new DeliveryQueue<PublishedEvent>({
      deliver: async ({ topic, data, call, isState }) => {
        // What happens while nobody who asked for it is there is nobody's to hear; and who asks for it now may have fewer rights.
        if (binding.isAway || refusalToListen(binding, isState) !== undefined) return;
        const attributes = { ...facts, "messaging.system": "svc", "messaging.operation.type": "process", "messaging.destination.name": topic };
        await inSpan(
          context.telemetry,
          { name: `event ${topic}`, kind: "consumer", traceparent: call.traceparent, baggage: call.baggage, attributes },
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

  /** Takes the event, to be handed over later. False when there was no room for it. */
  take(event: PublishedEvent): boolean {
    return this.#queue.push(event.publisher, event, event.data.text().length + EVENT_OVERHEAD_BYTES);
  }

  /** What waits is dropped; what is under way ends. */
  stop(): void {
    this.#queue.clear();
    this.#notes.stop();
  }
}
