import type { Clock } from "@svc-runtime/engine/module";
import { millisOf } from "../telemetry-records.ts";
import { sizeOf } from "./bounded-record.ts";
import { logSelector } from "./log-filter.ts";
import { invalidInput } from "./log-filter-input.ts";
import type {
  LogPosition,
  LogSource,
  LogStore,
  LogStoreStats,
  PageRequest,
  PageSlice,
  TallyRequest,
  TallySlice,
} from "./log-store.ts";
import { comparePositions, positionOf, Tally } from "./log-tally.ts";
import type { StoredLog } from "./stored-log.ts";

export interface MemoryLimits {
  readonly maxCount: number;
  readonly maxBytes: number;
  /** Undefined: no limit by age. */
  readonly maxAgeMs: number | undefined;
}

/** Maximum number of sources with their own queue; further ones share one. */
const MAX_SOURCES = 64;
/** Minimum number of evicted entries that is worth a pass over all entries. */
const MIN_EVICTED = 256;
const OTHER_SOURCES = Symbol("other sources");

interface Held {
  /** Undefined after its eviction, so that what still refers to it keeps no memory. */
  entry: StoredLog | undefined;
  readonly id: number;
  readonly size: number;
  /** Monotonic milliseconds. */
  readonly arrivedMs: number;
}

class Source {
  readonly #held: Held[] = [];
  #head = 0;
  bytes = 0;

  get count(): number {
    return this.#held.length - this.#head;
  }

  get oldest(): Held | undefined {
    return this.#held[this.#head];
  }

  push(held: Held): void {
    this.#held.push(held);
    this.bytes += held.size;
  }

  shift(): Held | undefined {
    const held = this.#held[this.#head];
    if (held === undefined) return undefined;
    this.bytes -= held.size;
    this.#head += 1;
    // Compacts the array only when half of it is free, so that each entry is moved about once.
    if (this.#head > 64 && this.#head * 2 > this.#held.length) {
      this.#held.splice(0, this.#head);
      this.#head = 0;
    }
    return held;
  }

  *entries(): Generator<StoredLog> {
    for (let index = this.#head; index < this.#held.length; index++) {
      const { entry } = this.#held[index] as Held;
      if (entry !== undefined) yield entry;
    }
  }
}

/**
 * Stores entries in memory, limited by number, size and age; the oldest are evicted first. If several sources share a
 * full store, a source with more than half of it is evicted first, so that a chatty worker does not evict the entries
 * of others.
 */
export class MemoryLogs implements LogStore {
  readonly kind = "memory";
  readonly #clock: Clock;
  #limits: MemoryLimits;
  readonly #sources = new Map<string | symbol, Source>();
  #count = 0;
  #bytes = 0;
  /** The entries of the last query in time order. A query adds the entries that arrived since, and sorts only those. */
  #ordered: readonly Held[] = [];
  /** Entries that arrived since then. */
  #arrived: Held[] = [];
  /** Number of evicted entries that the two lists still refer to, or more. */
  #evicted = 0;

  constructor(options: { readonly clock: Clock; readonly limits: MemoryLimits }) {
    this.#clock = options.clock;
    this.#limits = options.limits;
  }

  setLimits(limits: MemoryLimits): void {
    this.#limits = limits;
    this.#evict();
  }

  add(entry: StoredLog): void {
    const held: Held = { entry, id: entry.id, size: sizeOf(entry.log), arrivedMs: this.#clock.monotonic() };
    this.#sourceOf(entry).push(held);
    this.#count += 1;
    this.#bytes += held.size;
    this.#arrived.push(held);
    this.#evict();
    // Without queries the lists must not grow either.
    if (this.#evicted > Math.max(MIN_EVICTED, this.#count)) this.#order();
  }

  open(): LogSource {
    this.#evict();
    this.#order();
    const entries: StoredLog[] = [];
    for (const { entry } of this.#ordered) if (entry !== undefined) entries.push(entry);
    return new OrderedLogs(entries);
  }

  #order(): void {
    const before = this.#evicted > 0 ? this.#ordered.filter(isKept) : this.#ordered;
    const arrived = this.#arrived.filter(isKept).sort(byTime);
    const [first] = arrived;
    const last = before.at(-1);
    this.#ordered = [...before, ...arrived];
    if (first !== undefined && last !== undefined && byTime(first, last) < 0)
      this.#ordered = this.#ordered.toSorted(byTime);
    this.#arrived = [];
    this.#evicted = 0;
  }

  get(id: number): StoredLog | undefined {
    this.#evict();
    for (const source of this.#sources.values())
      for (const entry of source.entries()) if (entry.id === id) return entry;
    return undefined;
  }

  clear(): void {
    this.#sources.clear();
    this.#count = 0;
    this.#bytes = 0;
    this.#ordered = [];
    this.#arrived = [];
    this.#evicted = 0;
  }

  stats(): LogStoreStats {
    this.#evict();
    const oldest = this.#oldest()?.oldest?.entry;
    return {
      stored: this.#count,
      limit: this.#limits.maxCount,
      bytes: this.#bytes,
      maxBytes: this.#limits.maxBytes,
      diskBytes: undefined,
      oldestMs: oldest === undefined ? undefined : millisOf(oldest.log.timeUnixNano),
      unwritten: 0,
    };
  }

  async flush(): Promise<void> {}

  async stop(): Promise<void> {}

  #sourceOf({ log }: StoredLog): Source {
    const name = log.resource.service;
    const key = this.#sources.has(name) || this.#sources.size < MAX_SOURCES ? name : OTHER_SOURCES;
    let source = this.#sources.get(key);
    if (source === undefined) {
      source = new Source();
      this.#sources.set(key, source);
    }
    return source;
  }

  #evict(): void {
    const { maxCount, maxBytes, maxAgeMs } = this.#limits;
    while (this.#count > maxCount || this.#bytes > maxBytes) this.#drop(this.#overHalf() ?? this.#oldest());
    if (maxAgeMs === undefined) return;
    const earliest = this.#clock.monotonic() - maxAgeMs;
    for (const source of this.#sources.values())
      while (source.oldest !== undefined && source.oldest.arrivedMs < earliest) this.#drop(source);
  }

  #drop(source: Source | undefined): void {
    const held = source?.shift();
    if (held === undefined) return;
    this.#count -= 1;
    this.#bytes -= held.size;
    held.entry = undefined;
    this.#evicted += 1;
    if (source?.count === 0) for (const [key, other] of this.#sources) if (other === source) this.#sources.delete(key);
  }

  #overHalf(): Source | undefined {
    for (const source of this.#sources.values()) {
      if (source.count * 2 > this.#limits.maxCount || source.bytes * 2 > this.#limits.maxBytes) return source;
    }
    return undefined;
  }

  #oldest(): Source | undefined {
    let oldest: Source | undefined;
    for (const source of this.#sources.values())
      if ((source.oldest?.id ?? Number.POSITIVE_INFINITY) < (oldest?.oldest?.id ?? Number.POSITIVE_INFINITY))
        oldest = source;
    return oldest;
  }
}

function isKept({ entry }: Held): boolean {
  return entry !== undefined;
}

function byTime({ entry: a }: Held, { entry: b }: Held): number {
  return a === undefined || b === undefined ? 0 : comparePositions(positionOf(a), positionOf(b));
}

class OrderedLogs implements LogSource {
  readonly #entries: readonly StoredLog[];

  constructor(entries: readonly StoredLog[]) {
    this.#entries = entries;
  }

  page({ filter, order, after, limit, rows }: PageRequest): PageSlice {
    const select = logSelector(filter, invalidInput);
    if (order === "asc") {
      const start = after === undefined ? 0 : this.#firstBehind(after);
      const seen = this.#entries.slice(start, start + rows);
      return pageOf(select(seen), { limit, seen, isLast: start + rows >= this.#entries.length });
    }
    const end = after === undefined ? this.#entries.length : this.#firstAt(after);
    const seen = this.#entries.slice(Math.max(0, end - rows), end).reverse();
    return pageOf(select(seen), { limit, seen, isLast: end - rows <= 0 });
  }

  tally(request: TallyRequest): TallySlice {
    const start = request.after === undefined ? 0 : this.#firstBehind(request.after);
    const seen = this.#entries.slice(start, start + request.rows);
    const tally = new Tally(request);
    for (const entry of logSelector(request.filter, invalidInput)(seen)) tally.add(entry);
    const last = seen[seen.length - 1];
    return tally.slice(
      last === undefined || start + request.rows >= this.#entries.length ? undefined : positionOf(last),
    );
  }

  /** Returns the index of the first entry that is not before the position. */
  #firstAt(position: LogPosition): number {
    return this.#search((entry) => comparePositions(positionOf(entry), position) >= 0);
  }

  #firstBehind(position: LogPosition): number {
    return this.#search((entry) => comparePositions(positionOf(entry), position) > 0);
  }

  #search(isThere: (entry: StoredLog) => boolean): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isThere(this.#entries[middle] as StoredLog)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Returns the slice of a page, of which `seen` was searched. */
export function pageOf(
  matching: readonly StoredLog[],
  slice: { readonly limit: number; readonly seen: readonly StoredLog[]; readonly isLast: boolean },
): PageSlice {
  if (matching.length > slice.limit) {
    const entries = matching.slice(0, slice.limit);
    return { entries, next: positionOf(entries[entries.length - 1] as StoredLog) };
  }
  const last = slice.seen[slice.seen.length - 1];
  return { entries: matching, next: slice.isLast || last === undefined ? undefined : positionOf(last) };
}
