import { CallError } from "@svc/protocol";
import type { Clock } from "../../kernel/clock.ts";
import type { StreamEvent, StreamPublisher } from "../../kernel/stream-contract.ts";
import type { PublishedEvent } from "./event-message.ts";
import type { Cause } from "./keeper.ts";

/** Publishes what happened: to the clients that have joined, and to the triggers. */
export class StreamEvents {
  readonly #publish: StreamPublisher["publish"];
  readonly #triggers: { happened(published: PublishedEvent): void };
  readonly #clock: Clock;
  #stopped = false;

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

  /** Nobody is there to publish to any more. */
  stop(): void {
    this.#stopped = true;
  }

  /** Answers the event's number in (stream, group). Events go out in the order of these calls. Throws `draining` after `stop`. */
  publish(event: StreamEvent, { traceparent, baggage }: Cause): number {
    if (this.#stopped) throw new CallError("draining", "svc-stream has stopped: the change was made, and nobody was told of it");
    const seq = this.#publish(event);
    this.#triggers.happened({ event, seq, at: this.#clock.now(), origin: { traceparent, baggage } });
    return seq;
  }
}
