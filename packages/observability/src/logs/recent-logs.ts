import { sizeOf } from "./bounded-record.ts";
import type { StoredLog } from "./stored-log.ts";

const MAX_COUNT = 1_000;
const MAX_BYTES = 1024 * 1024;

/**
 * The last entries in order of arrival, for callers that poll: at most 1,000 entries and 1 MiB. Their ids are
 * consecutive.
 */
export class RecentLogs {
  #entries: StoredLog[] = [];
  #bytes = 0;
  readonly #waiting = new Set<() => void>();

  /** Id of the last entry; 0 before the first. */
  lastId: number;

  constructor(lastId: number) {
    this.lastId = lastId;
  }

  add(entry: StoredLog): void {
    this.lastId = entry.id;
    this.#entries.push(entry);
    this.#bytes += sizeOf(entry.log);
    let evicted = 0;
    while (
      this.#entries.length - evicted > MAX_COUNT ||
      (this.#bytes > MAX_BYTES && this.#entries.length - evicted > 1)
    ) {
      this.#bytes -= sizeOf((this.#entries[evicted] as StoredLog).log);
      evicted += 1;
    }
    if (evicted > 0) this.#entries.splice(0, evicted);
    for (const wake of this.#waiting) wake();
  }

  clear(): void {
    this.#entries = [];
    this.#bytes = 0;
  }

  /** Returns the entries after this id, and the number of entries after it that were already evicted. */
  after(id: number): { readonly entries: readonly StoredLog[]; readonly dropped: number } {
    const first = this.#entries[0];
    if (first === undefined) return { entries: [], dropped: Math.max(0, this.lastId - id) };
    return { entries: this.#entries.slice(Math.max(0, id - first.id + 1)), dropped: Math.max(0, first.id - id - 1) };
  }

  newest(count: number): readonly StoredLog[] {
    return this.#entries.slice(-count);
  }

  /** Calls `wake` for each new entry. Returns a function that ends this. */
  onEntry(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }
}
