import { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../../kernel/clock.ts";
import type { StreamEvent, StreamPublisher } from "../../kernel/stream-contract.ts";
import type { PublishedEvent } from "./event-message.ts";
import type { Cause } from "./stream-backend.ts";

/** Publishes events to subscribers and triggers. */
export class StreamEvents {
  readonly #publisher: Pick<StreamPublisher, "publish" | "resync">;
  readonly #triggers: { published(event: PublishedEvent): void };
  readonly #clock: Clock;
  readonly #metrics: { published(stream: string): void } | undefined;
  #stopped = false;

  constructor({
    publisher,
    triggers,
    clock,
    metrics,
  }: {
    readonly publisher: Pick<StreamPublisher, "publish" | "resync">;
    readonly triggers: { published(event: PublishedEvent): void };
    readonly clock: Clock;
    readonly metrics?: { published(stream: string): void };
  }) {
    this.#publisher = publisher;
    this.#triggers = triggers;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Stops publishing. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * Publishes an event, in call order. Returns its sequence number in (stream, group). Throws `draining` after `stop`.
   */
  publish(event: StreamEvent, { traceparent, baggage }: Cause): number {
    if (this.#stopped)
      throw new CallError("draining", "svc-stream has stopped: the change was stored, but not published", {
        details: { executed: "yes" },
      });
    const seq = this.#publisher.publish(event);
    this.#metrics?.published(event.stream);
    this.#triggers.published({ event, seq, at: this.#clock.now(), origin: { traceparent, baggage } });
    return seq;
  }

  /** Must be called after a write with an unknown outcome. Resyncs the group's subscribers. Triggers are not called. */
  unclear(stream: string, group: string): void {
    if (!this.#stopped) this.#publisher.resync(stream, group);
  }
}
