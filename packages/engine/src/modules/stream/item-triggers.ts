import { DeliveryQueue } from "../../deliveries/delivery-queue.ts";
import { TriggerFailureReport } from "../../deliveries/trigger-failure-report.ts";
import { addTrigger, inSpan } from "../../deliveries/trigger-span.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Quota, TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { Telemetry } from "../../kernel/telemetry-contract.ts";
import { eventMessage, type PublishedEvent } from "./event-message.ts";
import {
  type ItemTriggerSettings,
  MAX_WAITING_BYTES,
  matchesFilter,
  needCondition,
  refuseWithoutRights,
} from "./trigger-settings.ts";

/** Maximum number of pending events per trigger. Further events are dropped. */
const MAX_WAITING_EVENTS = 10_000;
/** Maximum number of groups that a trigger handles concurrently. */
const MAX_PARALLEL_GROUPS = 16;
/** Size of an event without its data, in bytes. */
const EVENT_OVERHEAD_BYTES = 300;

/** A delivery. The message is created once for all triggers. */
interface Delivery {
  readonly published: PublishedEvent;
  readonly message: ReturnType<typeof eventMessage>;
}

interface Watching {
  readonly settings: ItemTriggerSettings;
  readonly take: (delivery: Delivery, lane: string, bytes: number) => void;
}

/**
 * Triggers of type `stream`. Each event is delivered once, without retries; events of a group are delivered in order,
 * one after another. Writes do not wait for deliveries.
 */
export class ItemTriggers {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #telemetry: Pick<Telemetry, "startSpan">;
  readonly #waitingBytes: Quota;
  /** Triggers by watched stream; undefined: all streams. */
  readonly #watching = new Map<string | undefined, Set<Watching>>();

  constructor(parts: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly telemetry: Pick<Telemetry, "startSpan">;
    readonly waitingBytes: Quota;
  }) {
    this.#clock = parts.clock;
    this.#waitingBytes = parts.waitingBytes;
    this.#log = parts.log;
    this.#telemetry = parts.telemetry;
  }

  bind(binding: TriggerBinding<ItemTriggerSettings>): Undo {
    refuseWithoutRights(binding);
    needCondition(binding);
    const notes = new TriggerFailureReport(binding, "stream", { clock: this.#clock, log: this.#log });
    const trigger = { type: "stream", id: binding.id };
    const queue = new DeliveryQueue<Delivery>({
      deliver: async ({ published, message }) => {
        // Events are not delivered while the worker is disconnected. Rights are checked again, because the owner may
        // have changed.
        if (binding.isAway) return;
        refuseWithoutRights(binding);
        const { origin, event } = published;
        const attributes = {
          "svc.stream.name": event.stream,
          "svc.stream.group": event.group,
          "svc.stream.event": event.type,
        };
        await inSpan(
          this.#telemetry,
          {
            name: `stream ${event.stream}`,
            kind: "consumer",
            traceparent: origin.traceparent,
            baggage: origin.baggage,
            attributes: addTrigger(attributes, "stream", trigger),
          },
          async ({ traceparent }) => {
            const trace = { ...origin, traceparent };
            if (await binding.passes(message, trace)) await binding.fire(message, trace);
          },
        );
        notes.succeeded();
      },
      onFailed: (_delivery, error) => notes.failed(error),
      onDropped: () => notes.dropped(),
      maxWaiting: MAX_WAITING_EVENTS,
      maxBytes: MAX_WAITING_BYTES,
      quota: this.#waitingBytes,
      principal: () => binding.principal,
      maxParallel: MAX_PARALLEL_GROUPS,
    });
    const watching: Watching = {
      settings: binding.settings,
      take: (delivery, lane, bytes) => queue.push(lane, delivery, bytes),
    };
    const stream = binding.settings.stream_name ?? undefined;
    const watchers = this.#watching.get(stream) ?? new Set();
    this.#watching.set(stream, watchers.add(watching));
    return () => {
      watchers.delete(watching);
      if (watchers.size === 0 && this.#watching.get(stream) === watchers) this.#watching.delete(stream);
      queue.clear();
      notes.stop();
    };
  }

  /** Queues an event for all matching triggers. */
  published(published: PublishedEvent): void {
    const { stream, group, id, json } = published.event;
    let delivery: Delivery | undefined;
    for (const watching of [this.#watching.get(stream), this.#watching.get(undefined)]) {
      for (const { settings, take } of watching ?? []) {
        if (!matchesFilter(settings.group_id, group) || !matchesFilter(settings.item_id, id)) continue;
        delivery ??= { published, message: eventMessage(published) };
        take(delivery, JSON.stringify([stream, group]), json.length + EVENT_OVERHEAD_BYTES);
      }
    }
  }
}
