import type { Clock } from "../../kernel/clock.ts";
import type { StreamEvent, StreamPublisher } from "../../kernel/stream-contract.ts";
import type { PublishedEvent } from "./event-message.ts";
import type { Cause } from "./keeper.ts";

/** Publishes what happened: to the clients that have joined, and to the triggers. */
export class StreamEvents {
  readonly #publish: StreamPublisher["publish"];
  readonly #triggers: { happened(published: PublishedEvent): void };
  readonly #clock: Clock;

  constructor({
    publish,
    triggers,
    clock,
  }: {
    readonly publish: StreamPublisher["publish"];
    readonly triggers: { happened(published: PublishedEvent): void };
    readonly clock: Clock;
  }) {
    this.#publish = publish;
    this.#triggers = triggers;
    this.#clock = clock;
  }

  /** Answers the event's number in (stream, group). Events go out in the order of these calls. */
  publish(event: StreamEvent, { traceparent, baggage }: Cause): number {
    const seq = this.#publish(event);
    this.#triggers.happened({ event, seq, at: this.#clock.now(), origin: { traceparent, baggage } });
    return seq;
  }
}
