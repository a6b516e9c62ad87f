import type { Clock } from "@svc-runtime/engine/module";
import { millisOf } from "../telemetry-records.ts";
import { sizeOf } from "./bounded-record.ts";
import { LabelSets } from "./label-sets.ts";
import type { LogSource, LogStore, LogStoreStats } from "./log-store.ts";
import { type Held, OrderedLogs } from "./ordered-logs.ts";
import type { StoredLog } from "./stored-log.ts";

export interface MemoryLimits {
  readonly maxCount: number;
  readonly maxBytes: number;
  /** Maximum age in milliseconds; undefined for no limit. */
  readonly maxAgeMs: number | undefined;
}

/** Maximum number of sources that have a queue of their own. Further sources share one queue. */
const MAX_SOURCES = 64;
/** With fewer evicted entries than this, the lists are not rebuilt, because that takes a pass over all entries. */
const MIN_EVICTED = 256;
const OTHER_SOURCES = Symbol("other sources");

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
    // Shortens the array only when half of it is free, so that each entry is moved about once.
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
 * Stores entries in memory, limited by number, size and age. The oldest are evicted first. There is one exception: if
 * one of several sources has more than half of the stored entries, its entries are evicted first, so that a worker that
 * logs much does not evict the entries of others.
 */
export class MemoryLogs implements LogStore {
  readonly kind = "memory";
  readonly #clock: Clock;
  #limits: MemoryLimits;
  readonly #sources = new Map<string | symbol, Source>();
  #count = 0;
  #bytes = 0;
  #labelSets = new LabelSets();
  /**
   * The entries in time order, as of the last query. The next query adds only the entries of `#arrived`, so only these
   * are sorted.
   */
  #ordered = new OrderedLogs(this.#labelSets);
  /** Entries that arrived since the last query. */
  #arrived: Held[] = [];
  /** Number of evicted entries to which `#ordered` and `#arrived` still refer. It may be too high. */
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
    const held: Held = {
      entry,
      id: entry.id,
      timeUnixNano: entry.log.timeUnixNano,
      size: sizeOf(entry.log),
      arrivedMs: this.#clock.monotonic(),
      labels: undefined,
    };
    this.#sourceOf(entry).push(held);
    this.#count += 1;
    this.#bytes += held.size;
    this.#arrived.push(held);
    this.#evict();
    // Without queries, nothing else removes evicted entries from the two lists.
    if (this.#evicted > Math.max(MIN_EVICTED, this.#count)) this.#order();
  }

  open(): LogSource {
    this.#evict();
    this.#order();
    return this.#ordered;
  }

  #order(): void {
    if (this.#evicted === 0 && this.#arrived.length === 0) return;
    this.#ordered = this.#ordered.with(this.#arrived, this.#evicted);
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
    this.#labelSets = new LabelSets();
    this.#ordered = new OrderedLogs(this.#labelSets);
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
    if (held.labels !== undefined) this.#labelSets.release(held.labels);
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
