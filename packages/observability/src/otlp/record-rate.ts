/**
 * Average records per second and burst size of one restricted principal. Spans, log entries and metrics count alike.
 */
const EACH = { perSecond: 50, burst: 1_000 };
/** The same for all restricted principals together. */
const SHARED = { perSecond: 200, burst: 2_000 };

interface Bucket {
  tokens: number;
  /** Monotonic, in milliseconds. */
  at: number;
}

/** Token buckets for telemetry of restricted senders, whose records evict those of all senders. */
export class RecordRate {
  readonly #monotonic: () => number;
  readonly #shared: Bucket;
  /** By principal. A bucket that is full again is removed. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
    this.#shared = { tokens: SHARED.burst, at: monotonic() };
  }

  /** True if the limit of the principal, or of all together, is reached. */
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
