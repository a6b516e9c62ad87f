import type { StreamSource } from "../../kernel/stream-contract.ts";
import type { Measurement } from "../../kernel/telemetry-contract.ts";

/** Maximum number of streams that are counted by name. Others are counted together. */
const MAX_STREAMS = 1_000;
const OTHERS = "(other)";

/** Counts events and subscriptions of each stream since the module started. */
export class StreamMetrics {
  readonly #streams = new Map<string, { events: number; subscribers: number }>();

  published(stream: string): void {
    this.#of(stream).events++;
  }

  /** Wraps a source to count subscriptions. */
  counting(source: StreamSource): StreamSource {
    return {
      ...source,
      admit: async (join) => {
        const verdict = await source.admit(join);
        if (verdict === undefined) this.#of(join.stream).subscribers++;
        return verdict;
      },
      left: (join) => {
        const counts = this.#of(join.stream);
        counts.subscribers = Math.max(0, counts.subscribers - 1);
        source.left(join);
      },
    };
  }

  measure(): readonly Measurement[] {
    return [...this.#streams].flatMap(([stream, { events, subscribers }]): Measurement[] => [
      {
        name: "svc.stream.events",
        type: "counter",
        description: "Events of a stream",
        labels: { stream },
        value: events,
      },
      {
        name: "svc.stream.subscribers",
        type: "gauge",
        description: "Subscriptions of a stream",
        labels: { stream },
        value: subscribers,
      },
    ]);
  }

  #of(stream: string): { events: number; subscribers: number } {
    const known = this.#streams.get(stream);
    if (known !== undefined) return known;
    if (this.#streams.size >= MAX_STREAMS && stream !== OTHERS) return this.#of(OTHERS);
    const fresh = { events: 0, subscribers: 0 };
    this.#streams.set(stream, fresh);
    return fresh;
  }
}
