/**
 * Limits for one restricted principal: average number of records per second, and burst size. A span, a log entry and a
 * metric each count as one record.
 */
const EACH = { perSecond: 50, burst: 1_000 };
/** Limits for all restricted principals together. */
const SHARED = { perSecond: 200, burst: 2_000 };

interface Bucket {
  tokens: number;
  /** Time of the last refill, in milliseconds on the monotonic clock. */
  at: number;
}

/**
 * Token buckets that limit telemetry of restricted senders. Without a limit, their records would evict those of all
 * other senders.
 */
export class RecordRate {
  readonly #monotonic: () => number;
  readonly #shared: Bucket;
  /** Buckets by principal. A bucket is removed when it is full again. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
    this.#shared = { tokens: SHARED.burst, at: monotonic() };
  }

  /** Returns true if the limit of this principal is reached, or the limit of all principals together. */
  isSpent(principal: string): boolean {
    return this.#bucketOf(principal).tokens < 1 || this.#shared.tokens < 1;
  }

  take(principal: string): void {
    this.#bucketOf(principal).tokens--;
    this.#shared.tokens--;
  }

  #bucketOf(principal: string): Bucket {
    const now = this.#monotonic();
    let own = this.#buckets.get(principal);
    if (own === undefined) {
      this.#removeFull(now);
      own = { tokens: EACH.burst, at: now };
      this.#buckets.set(principal, own);
    }
    refill(own, EACH, now);
    refill(this.#shared, SHARED, now);
    return own;
  }

  #removeFull(now: number): void {
    for (const [principal, bucket] of this.#buckets)
      if ((now - bucket.at) * EACH.perSecond >= EACH.burst * 1_000) this.#buckets.delete(principal);
  }
}

function refill(bucket: Bucket, { perSecond, burst }: typeof EACH, now: number): void {
  bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
  bucket.at = now;
}
