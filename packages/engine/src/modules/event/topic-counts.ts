/** Maximum number of counted topics. If there are more, the topic with the oldest last event is removed. */
const MAX_TOPICS = 10_000;

export interface TopicCount {
  readonly published: number;
  /** Failed calls of functions or conditions. */
  readonly failed: number;
  /** Events dropped because a trigger's queue was full, counted per trigger. */
  readonly dropped: number;
  /** Milliseconds since 1970. */
  readonly lastPublishedAt: number;
}

/** Counts events per topic since the module started. */
export class TopicCounts {
  /** Counts of all topics, including removed ones. */
  readonly totals = { published: 0, failed: 0, dropped: 0 };
  /** By topic, the one with the oldest last event first. */
  readonly #counts = new Map<string, { -readonly [Member in keyof TopicCount]: TopicCount[Member] }>();

  published(topic: string, at: number): void {
    const count = this.#counts.get(topic) ?? { published: 0, failed: 0, dropped: 0, lastPublishedAt: at };
    count.published++;
    this.totals.published++;
    count.lastPublishedAt = at;
    this.#counts.delete(topic);
    this.#counts.set(topic, count);
    if (this.#counts.size <= MAX_TOPICS) return;
    const [oldest] = this.#counts.keys();
    if (oldest !== undefined) this.#counts.delete(oldest);
  }

  failed(topic: string): void {
    this.totals.failed++;
    const count = this.#counts.get(topic);
    if (count !== undefined) count.failed++;
  }

  dropped(topic: string): void {
    this.totals.dropped++;
    const count = this.#counts.get(topic);
    if (count !== undefined) count.dropped++;
  }

  entries(): IterableIterator<readonly [string, TopicCount]> {
    return this.#counts.entries();
  }

  has(topic: string): boolean {
    return this.#counts.has(topic);
  }
}
