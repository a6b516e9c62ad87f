import { isBefore, type Log } from "./log.ts";

/** Maximum number of entries. Between two evictions, the buffer may have a tenth more. */
export const MAX_LOGS = 100_000;
/**
 * Maximum number of entries while the list follows the newest ones. It is lower, because a page that stays open all day
 * must not grow.
 */
export const MAX_FOLLOWED_LOGS = 5_000;

/** Entries sorted by time, without duplicates. They may be added in any order. */
export class LogBuffer {
  /** Entries, the oldest first. */
  #logs: Log[] = [];
  readonly #ids = new Set<string>();
  #listeners = new Set<() => void>();
  #received = 0;
  #dropped = 0;
  #limit = MAX_FOLLOWED_LOGS;

  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  get size(): number {
    return this.#logs.length;
  }

  /** Total number of live entries that were added. */
  get received(): number {
    return this.#received;
  }

  /** Total number of entries that were evicted. */
  get dropped(): number {
    return this.#dropped;
  }

  get oldest(): Log | undefined {
    return this.#logs[0];
  }

  get newest(): Log | undefined {
    return this.#logs[this.#logs.length - 1];
  }

  /** Adds live entries, which are mostly newer than all others. Evicts the oldest entries if there are too many. */
  addLive(logs: readonly Log[]): void {
    for (const log of logs) {
      if (this.#ids.has(log.id)) continue;
      this.#ids.add(log.id);
      this.#received++;
      const { newest } = this;
      if (newest === undefined || isBefore(newest, log)) this.#logs.push(log);
      else this.#logs.splice(this.#indexOf(log), 0, log);
    }
    this.#evict();
    this.#notify();
  }

  /** Sets the limit. `isFollowing` is true if the user follows the newest entries and reads no older ones. */
  follow(isFollowing: boolean): void {
    this.#limit = isFollowing ? MAX_FOLLOWED_LOGS : MAX_LOGS;
  }

  #evict(): void {
    const over = this.#logs.length - this.#limit;
    // Entries are evicted in large steps, because each eviction copies the whole array.
    if (over <= this.#limit / 10) return;
    for (const log of this.#logs.slice(0, over)) this.#ids.delete(log.id);
    this.#logs = this.#logs.slice(over);
    this.#dropped += over;
  }

  /**
   * Adds a page of stored entries. They are sorted with the newest first, and mostly older than those in the buffer.
   */
  addHistory(logs: readonly Log[]): void {
    const fresh = logs.filter(({ id }) => !this.#ids.has(id)).reverse();
    for (const { id } of fresh) this.#ids.add(id);
    const oldest = this.#logs[0];
    const last = fresh[fresh.length - 1];
    if (oldest === undefined || last === undefined || isBefore(last, oldest)) this.#logs = [...fresh, ...this.#logs];
    else for (const log of fresh) this.#logs.splice(this.#indexOf(log), 0, log);
    // The limit is raised so that entries that the user loaded stay, until the list follows the newest entries again.
    this.#limit = Math.min(MAX_LOGS, Math.max(this.#limit, this.#logs.length));
    this.#notify();
  }

  clear(): void {
    this.#logs = [];
    this.#ids.clear();
    this.#notify();
  }

  /** Returns the index of an entry. If it is not in the buffer, returns the index at which it must be inserted. */
  #indexOf(log: Pick<Log, "timestamp_ms" | "id">): number {
    let [from, to] = [0, this.#logs.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (isBefore(this.#logs[middle] as Log, log)) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** Returns the entries, newest first. With `upTo`, entries newer than it are left out. */
  view(upTo: Pick<Log, "timestamp_ms" | "id"> | undefined): readonly Log[] {
    if (upTo === undefined) return this.#logs.toReversed();
    const index = this.#indexOf(upTo);
    const isIncluded = this.#logs[index]?.id === upTo.id;
    return this.#logs.slice(0, index + (isIncluded ? 1 : 0)).reverse();
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  find(id: string): Log | undefined {
    return this.#ids.has(id) ? this.#logs.find((log) => log.id === id) : undefined;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
