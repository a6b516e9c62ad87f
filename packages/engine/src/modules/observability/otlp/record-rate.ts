/** Records a second that one restricted principal may send on average, and at once. Spans, log entries and metrics count alike. */
const EACH = { perSecond: 50, burst: 1_000 };
/** The same for all restricted principals together. */
const TOGETHER = { perSecond: 200, burst: 2_000 };

interface Bucket {
  tokens: number;
  /** Monotonic, in milliseconds. */
  at: number;
}

/**
 * Token buckets for telemetry of restricted senders: what they send evicts older records of everybody, so they must not send as much as they like.
 */
export class RecordRate {
  readonly #monotonic: () => number;
  readonly #together: Bucket;
  /** By principal. One that has not sent for long enough is full again and is forgotten. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
    this.#together = { tokens: TOGETHER.burst, at: monotonic() };
  }

  /** True if a further record of the principal is too much, for it or for all of them together. */
  isSpent(principal: string): boolean {
    return this.#bucketOf(principal).tokens < 1 || this.#together.tokens < 1;
  }

  /** Counts one record of the principal. */
  take(principal: string): void {
    this.#bucketOf(principal).tokens--;
    this.#together.tokens--;
  }

  #bucketOf(principal: string): Bucket {
    const now = this.#monotonic();
    let own = this.#buckets.get(principal);
    if (own === undefined) {
      this.#forgetFull(now);
      own = { tokens: EACH.burst, at: now };
      this.#buckets.set(principal, own);
    }
    refill(own, EACH, now);
    refill(this.#together, TOGETHER, now);
    return own;
  }

  #forgetFull(now: number): void {
    for (const [principal, bucket] of this.#buckets) if ((now - bucket.at) * EACH.perSecond >= EACH.burst * 1_000) this.#buckets.delete(principal);
  }
}

function refill(bucket: Bucket, { perSecond, burst }: typeof EACH, now: number): void {
  bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
  bucket.at = now;
}
