import { type BackoffOptions, backoffMs } from "@svc-runtime/protocol";
import type { Clock } from "../kernel/clock.ts";
import { IntervalClock } from "../kernel/interval-clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type { ItemStore } from "./item-store.ts";

/** Number of items per batch. */
const BATCH_ITEMS = 500;
/**
 * Maximum duration of a timer, in milliseconds. It is short because the wall clock may be set meanwhile. Node limits
 * timers to 24 days.
 */
const LONGEST_SLEEP_MS = 60_000;
/** Minimum time between two sweeps, in milliseconds. */
const PAUSE_MS = 20;
/** Backoff after a failure of the store. */
const BACKOFF: BackoffOptions = { firstMs: 1_000, maxMs: 60_000, jitter: 0 };

export interface ExpirySweepOptions {
  readonly store: Pick<ItemStore, "expired" | "nextExpiry">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Deletes an expired item with `ifVersion` and notifies watchers. Called concurrently for many items. */
  readonly remove: (item: {
    readonly scope: string;
    readonly key: string;
    readonly version: number;
  }) => Promise<unknown>;
}

/**
 * Deletes expired items. Readers do not see expired items in any case. The sweep frees their space and publishes their
 * deletion. It queries the store only when the next item expires.
 */
export class ExpirySweep {
  readonly #options: ExpirySweepOptions;
  readonly #clock: IntervalClock;
  /** Time at which the next item expires, in milliseconds since 1970. */
  #next: number | undefined;
  #cancelTimer: (() => void) | undefined;
  /** The running sweep. */
  #sweeping: Promise<void> | undefined;
  /** Number of consecutive failures. */
  #failures = 0;
  #stopped = false;

  constructor(options: ExpirySweepOptions) {
    this.#options = options;
    // If the wall clock is set, the store shifts its expiry times. So shift `#next` too.
    this.#clock = new IntervalClock(options.clock, (byMs) => {
      if (this.#next !== undefined) this.#next += byMs;
    });
  }

  /** Reads the next expiry time from the store and starts. Rejects if the store fails. */
  async start(): Promise<void> {
    this.#next = await this.#options.store.nextExpiry();
    this.#arm();
  }

  /** Must be called when an item with an expiry time is written. */
  note(expiresAt: number): void {
    // `expiresAt` is relative to the current wall clock. So shift `#next` before the comparison if the wall clock was
    // set.
    this.#clock.now();
    if (this.#next !== undefined && this.#next <= expiresAt) return;
    this.#next = expiresAt;
    if (this.#sweeping === undefined) this.#arm();
  }

  /** Stops. Resolves when no sweep is running any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#sweeping;
  }

  #arm(atLeastMs = 0): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#stopped || this.#next === undefined) return;
    const now = this.#clock.now();
    const sleepMs = Math.max(Math.min(this.#next - now, LONGEST_SLEEP_MS), atLeastMs);
    this.#cancelTimer = this.#clock.after(sleepMs, () => {
      const wokenAt = this.#clock.now();
      if (this.#next === undefined || this.#next > wokenAt) return this.#arm();
      this.#sweeping = this.#sweep().then((pauseMs) => {
        this.#sweeping = undefined;
        this.#arm(pauseMs);
      });
    });
  }

  /** Runs a sweep. Never rejects. Returns the minimum pause before the next sweep, in milliseconds. */
  async #sweep(): Promise<number> {
    const { store, log, remove } = this.#options;
    try {
      while (!this.#stopped) {
        const items = await store.expired(this.#clock.now(), BATCH_ITEMS);
        const outcomes = await Promise.allSettled(items.map(async (item) => remove(item)));
        const failed = outcomes.find((outcome) => outcome.status === "rejected");
        if (failed !== undefined) throw failed.reason;
        if (items.length === BATCH_ITEMS) continue;
        // Reset before the query, so that an earlier expiry time is kept if `note` is called during the query.
        this.#next = undefined;
        const next = await store.nextExpiry();
        if (next !== undefined) this.note(next);
        this.#failures = 0;
        break;
      }
      return PAUSE_MS;
    } catch (error) {
      this.#failures += 1;
      const retryAfterMs = backoffMs(BACKOFF, this.#failures);
      this.#next ??= this.#clock.now();
      log.warn("failed to delete expired items; retrying", { error, retryAfterMs });
      return retryAfterMs;
    }
  }
}
