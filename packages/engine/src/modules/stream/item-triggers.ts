import { DeliveryQueue } from "../../deliveries/delivery-queue.ts";
import { FailureNotes } from "../../deliveries/failure-notes.ts";
import { inSpan, occasion } from "../../deliveries/in-span.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Quota, TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { Telemetry } from "../../kernel/telemetry-contract.ts";
import { eventMessage, type PublishedEvent } from "./event-message.ts";
import { type ItemTriggerSettings, lets, needCondition, refuseWithoutRights } from "./trigger-settings.ts";
import { MAX_WAITING_BYTES } from "./waiting-bytes.ts";

/** Events that may wait for one trigger; what comes on top is dropped. */
const MAX_WAITING_EVENTS = 10_000;
/** Groups whose events one trigger handles at once. */
const MAX_PARALLEL_GROUPS = 16;
/** What an event weighs besides its data, in bytes. */
const EVENT_OVERHEAD_BYTES = 300;

/** What a delivery holds: the message is made once for all triggers. */
interface Delivery {
  readonly published: PublishedEvent;
  readonly message: ReturnType<typeof eventMessage>;
}

interface Watching {
  readonly settings: ItemTriggerSettings;
  readonly take: (delivery: Delivery, lane: string, bytes: number) => void;
}

/**
 * Triggers of type `stream`. Each event is handed over once, without attempts after a failure; those of one group one after another, in order. Who
 * writes does not wait for it.
 */
export class ItemTriggers {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #telemetry: Pick<Telemetry, "startSpan">;
  readonly #waitingBytes: Quota;
  /** By the stream that they watch; undefined: all streams. */
  readonly #watching = new Map<string | undefined, Set<Watching>>();

  constructor(parts: { readonly clock: Clock; readonly log: Logger; readonly telemetry: Pick<Telemetry, "startSpan">; readonly waitingBytes: Quota }) {
    this.#clock = parts.clock;
    this.#waitingBytes = parts.waitingBytes;
    this.#log = parts.log;
    this.#telemetry = parts.telemetry;
  }

  bind(binding: TriggerBinding<ItemTriggerSettings>): Undo {
    refuseWithoutRights(binding);
    needCondition(binding);
    const notes = new FailureNotes(binding, "stream", { clock: this.#clock, log: this.#log });
    const facts = occasion("stream", { type: "stream", id: binding.id });
    const queue = new DeliveryQueue<Delivery>({
      deliver: async ({ published, message }) => {
        // What happens while nobody who asked for it is there is nobody's to hear; and who asks for it now may have fewer rights.
        if (binding.isAway) return;
        refuseWithoutRights(binding);
        const { origin, event } = published;
        const attributes = { ...facts, "svc.stream.name": event.stream, "svc.stream.group": event.group, "svc.stream.event": event.type };
        await inSpan(this.#telemetry, { name: `stream ${event.stream}`, kind: "consumer", ...origin, attributes }, async ({ traceparent }) => {
          const trace = { ...origin, traceparent };
          if (await binding.passes(message, trace)) await binding.fire(message, trace);
        });
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
    const watching: Watching = { settings: binding.settings, take: (delivery, lane, bytes) => queue.push(lane, delivery, bytes) };
    const stream = binding.settings.stream_name ?? undefined;
    const beside = this.#watching.get(stream) ?? new Set();
    this.#watching.set(stream, beside.add(watching));
    return () => {
      beside.delete(watching);
      if (beside.size === 0 && this.#watching.get(stream) === beside) this.#watching.delete(stream);
      queue.clear();
      notes.stop();
    };
  }

  /** Hands an event to all who watch for it, later. */
  happened(published: PublishedEvent): void {
    const { stream, group, id, json } = published.event;
    let delivery: Delivery | undefined;
    for (const watching of [this.#watching.get(stream), this.#watching.get(undefined)]) {
      for (const { settings, take } of watching ?? []) {
        if (!lets(settings.group_id, group) || !lets(settings.item_id, id)) continue;
        delivery ??= { published, message: eventMessage(published) };
        take(delivery, JSON.stringify([stream, group]), json.length + EVENT_OVERHEAD_BYTES);
      }
    }
  }
}
