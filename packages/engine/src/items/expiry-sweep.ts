import { type BackoffOptions, backoffMs } from "@svc/protocol";
import type { Clock } from "../kernel/clock.ts";
import { IntervalClock } from "../kernel/interval-clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type { ItemStore } from "./item-store.ts";

/** Items that are deleted together. */
const BATCH_ITEMS = 500;
/** Longest time between two looks at the wall clock, in milliseconds: it may be set, and timers do not reach further than 24 days. */
const LONGEST_SLEEP_MS = 60_000;
/** Least time between two sweeps, in milliseconds. */
const PAUSE_MS = 20;
/** Pause after a failure of the store. */
const BACKOFF: BackoffOptions = { firstMs: 1_000, maxMs: 60_000, jitter: 0 };

export interface ExpirySweepOptions {
  readonly store: Pick<ItemStore, "expired" | "nextExpiry">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Deletes an item past its end, with `ifVersion`, and tells whoever is to be told. Called for many at once. */
  readonly remove: (item: { readonly scope: string; readonly key: string; readonly version: number }) => Promise<unknown>;
}

/**
 * Deletes items when their time is over. They are gone for readers before that; this is what frees their room and makes their deletions known.
 * Looks into the store when the next item ends, and not otherwise.
 */
export class ExpirySweep {
  readonly #options: ExpirySweepOptions;
  readonly #clock: IntervalClock;
  /** When the next item ends, in milliseconds since 1970. */
  #next: number | undefined;
  #cancelTimer: (() => void) | undefined;
  /** The sweep under way. */
  #sweeping: Promise<void> | undefined;
  /** Failures in a row. */
  #failures = 0;
  #stopped = false;

  constructor(options: ExpirySweepOptions) {
    this.#options = options;
    // The store moves the ends that it keeps.
    this.#clock = new IntervalClock(options.clock, (byMs) => {
      if (this.#next !== undefined) this.#next += byMs;
    });
  }

  /** Asks the store what ends next. Rejects when it cannot say. */
  async start(): Promise<void> {
    this.#next = await this.#options.store.nextExpiry();
    this.#arm();
  }

  /** An item was written that ends at this time. */
  note(expiresAt: number): void {
    // `expiresAt` is of the clock as it is now.
    this.#clock.now();
    if (this.#next !== undefined && this.#next <= expiresAt) return;
    this.#next = expiresAt;
    if (this.#sweeping === undefined) this.#arm();
  }

  /** Resolves when nothing is under way any more. */
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

  /** Never rejects. Answers how long to wait at least before the next one. */
  async #sweep(): Promise<number> {
    const { store, log, remove } = this.#options;
    try {
      while (!this.#stopped) {
        const items = await store.expired(this.#clock.now(), BATCH_ITEMS);
        const outcomes = await Promise.allSettled(items.map(async (item) => remove(item)));
        const failed = outcomes.find((outcome) => outcome.status === "rejected");
        if (failed !== undefined) throw failed.reason;
        if (items.length === BATCH_ITEMS) continue;
        // What is noted while the store answers may end before what the store knew of.
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
      log.warn("items past their end could not be deleted; they are not read any more, and it is tried again", { error, retryAfterMs });
      return retryAfterMs;
    }
  }
}
