import { CallError } from "@svc/protocol";
import type { Clock } from "../../kernel/clock.ts";
import type { StreamEvent, StreamPublisher } from "../../kernel/stream-contract.ts";
import type { PublishedEvent } from "./event-message.ts";
import type { Cause } from "./keeper.ts";

/** Publishes what happened: to the clients that have joined, and to the triggers. */
export class StreamEvents {
  readonly #publisher: Pick<StreamPublisher, "publish" | "resync">;
  readonly #triggers: { happened(published: PublishedEvent): void };
  readonly #clock: Clock;
  readonly #figures: { published(stream: string): void } | undefined;
  #stopped = false;

  constructor({
    publisher,
    triggers,
    clock,
    figures,
  }: {
    readonly publisher: Pick<StreamPublisher, "publish" | "resync">;
    readonly triggers: { happened(published: PublishedEvent): void };
    readonly clock: Clock;
    /** Counts the events. */
    readonly figures?: { published(stream: string): void };
  }) {
    this.#publisher = publisher;
    this.#triggers = triggers;
    this.#clock = clock;
    this.#figures = figures;
  }

  /** Nobody is there to publish to any more. */
  stop(): void {
    this.#stopped = true;
  }

  /** Answers the event's number in (stream, group). Events go out in the order of these calls. Throws `draining` after `stop`. */
  publish(event: StreamEvent, { traceparent, baggage }: Cause): number {
    if (this.#stopped) throw new CallError("draining", "svc-stream has stopped: the change was made, and nobody was told of it");
    const seq = this.#publisher.publish(event);
    this.#figures?.published(event.stream);
    this.#triggers.happened({ event, seq, at: this.#clock.now(), origin: { traceparent, baggage } });
    return seq;
  }

  /** Something may have been stored in the group that nobody can tell what it was. Clients are sent what there is; triggers are not told. */
  unclear(stream: string, group: string): void {
    if (!this.#stopped) this.#publisher.resync(stream, group);
  }
}
