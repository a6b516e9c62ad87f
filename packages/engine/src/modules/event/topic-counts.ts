/** Topics that are counted; beyond, those that were published to longest ago are forgotten. */
const MAX_TOPICS = 10_000;

export interface TopicCount {
  readonly published: number;
  /** Calls of functions, or of their conditions, that failed. */
  readonly failed: number;
  /** Events that there was no room for, each counted for each trigger. */
  readonly dropped: number;
  /** Milliseconds since 1970. */
  readonly lastPublishedAt: number;
}

/** What happened in each topic since the module started. */
export class TopicCounts {
  /** Of all topics, forgotten ones too. */
  readonly totals = { published: 0, failed: 0, dropped: 0 };
  /** Those published to longest ago first. */
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
