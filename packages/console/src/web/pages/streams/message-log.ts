import type { TappedMessage, TapTotals } from "@svc-runtime/protocol/listings";
import type { Marker, MarkerFacts, MonitorRow, TappedBatch } from "./message.ts";

/** Maximum number of rows in the log. The oldest rows are evicted first. */
export const MAX_ROWS = 20_000;
/** Maximum number of characters of all payloads in the log. */
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** Time over which the average rate is computed, in seconds. */
const RATE_SECONDS = 5;

export interface Counters {
  /** Number of messages in both directions, including those that are not shown. */
  readonly total: number;
  readonly inbound: number;
  readonly outbound: number;
  readonly bytes: number;
  readonly perSecond: number;
  readonly buffered: number;
  /**
   * Number of messages that the engine counted but the page did not receive. The engine left them out of a batch, or
   * the batch was lost.
   */
  readonly dropped: number;
  /** True if messages may have been missed without being counted. The counts are then lower bounds. */
  readonly isAtLeast: boolean;
}

/**
 * Stores the latest messages, and counts all messages. It is independent of React: components subscribe with `listen`.
 */
export class MessageLog {
  /** Stored rows. Rows before the index `#start` were evicted. */
  #rows: MonitorRow[] = [];
  #start = 0;
  #characters = 0;
  #nextSeq = 1;
  #inbound = 0;
  #outbound = 0;
  #bytes = 0;
  /** Number of messages received, including evicted ones. */
  #received = 0;
  /** The engine's totals at the last count. If undefined, counting begins with the next totals. */
  #lastTotals: TapTotals | undefined;
  #isAtLeast = false;
  readonly #perSecond = new Map<number, number>();
  readonly #listeners = new Set<() => void>();
  readonly #name: string;

  /** `name` is part of the row ids. It makes them unique across loads of the page. */
  constructor(name: string) {
    this.#name = name;
  }

  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  /**
   * Sets the engine's totals when the page begins to watch. The counters can then include messages of batches that are
   * lost later.
   */
  begin(totals: TapTotals): void {
    this.#lastTotals ??= totals;
  }

  /**
   * Ends counting, because from now on the engine may not count messages for this page. The next totals begin a new
   * count.
   */
  end(): void {
    this.#lastTotals = undefined;
  }

  add({ messages, totals }: TappedBatch, nowMs: number): void {
    for (const message of messages) this.#push(message);
    this.#received += messages.length;
    if (totals !== undefined) this.#count(totals, nowMs);
    this.#trim();
    this.#notify();
  }

  #count(totals: TapTotals, nowMs: number): void {
    const before = this.#lastTotals ?? totals;
    this.#lastTotals = totals;
    const [inbound, outbound] = [totals.inbound - before.inbound, totals.outbound - before.outbound];
    this.#inbound += inbound;
    this.#outbound += outbound;
    this.#bytes += totals.inbound_bytes - before.inbound_bytes + totals.outbound_bytes - before.outbound_bytes;
    const second = Math.floor(nowMs / 1000);
    this.#perSecond.set(second, (this.#perSecond.get(second) ?? 0) + inbound + outbound);
    for (const old of this.#perSecond.keys()) if (old < second - RATE_SECONDS) this.#perSecond.delete(old);
  }

  #push(message: TappedMessage): void {
    const seq = this.#nextSeq++;
    this.#rows.push({ ...message, kind: "message", id: `${this.#name}-${seq}`, seq });
    this.#characters += message.payload.length;
    addName(this.seen.streams, message.stream);
    addName(this.seen.groups, message.group);
    addName(this.seen.types, message.type);
  }

  /** Adds a marker row. With `isLossy`, messages may be missed that are not counted. */
  mark(facts: MarkerFacts, isLossy = false): Marker {
    const seq = this.#nextSeq++;
    const marker: Marker = { ...facts, kind: "marker", id: `${this.#name}-${seq}`, seq };
    this.#rows.push(marker);
    if (isLossy) this.#isAtLeast = true;
    this.#trim();
    this.#notify();
    return marker;
  }

  /** Updates a marker. If it was evicted, adds it as a new row. */
  updateMarker(marker: Marker, facts: Partial<MarkerFacts>): void {
    if (marker.seq < this.firstSeq) this.mark({ ...marker, ...facts });
    else Object.assign(marker, facts);
    this.#notify();
  }

  #trim(): void {
    while (this.#rows.length - this.#start > MAX_ROWS || this.#characters > MAX_CHARACTERS) {
      const row = this.#rows[this.#start] as MonitorRow;
      if (row.kind === "message") this.#characters -= row.payload.length;
      this.#start++;
    }
    // The array is copied only after many evictions, because a copy for each row would be slow.
    if (this.#start > MAX_ROWS / 4) {
      this.#rows = this.#rows.slice(this.#start);
      this.#start = 0;
    }
  }

  /** Returns all rows, the oldest first. */
  rows(): readonly MonitorRow[] {
    return this.#start === 0 ? this.#rows : this.#rows.slice(this.#start);
  }

  /** Returns the rows that are newer than `seq`, the oldest first. */
  since(seq: number): readonly MonitorRow[] {
    let at = this.#rows.length;
    while (at > this.#start && (this.#rows[at - 1] as MonitorRow).seq > seq) at--;
    return this.#rows.slice(at);
  }

  /** Sequence number of the oldest stored row, or of the next row if the log is empty. */
  get firstSeq(): number {
    return this.#rows[this.#start]?.seq ?? this.#nextSeq;
  }

  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  find(id: string): MonitorRow | undefined {
    return this.rows().find((row) => row.id === id);
  }

  /** Names that occurred in messages. They are offered as filters. There are at most 200 of each kind. */
  readonly seen = { streams: new Set<string>(), groups: new Set<string>(), types: new Set<string>() };

  counters(nowMs: number): Counters {
    const second = Math.floor(nowMs / 1000);
    let recent = 0;
    for (const [at, count] of this.#perSecond) if (at < second && at >= second - RATE_SECONDS) recent += count;
    const total = this.#inbound + this.#outbound;
    return {
      total,
      inbound: this.#inbound,
      outbound: this.#outbound,
      bytes: this.#bytes,
      perSecond: recent / RATE_SECONDS,
      buffered: this.#rows.length - this.#start,
      dropped: Math.max(0, total - this.#received),
      isAtLeast: this.#isAtLeast,
    };
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

const MAX_NAMES = 200;
function addName(names: Set<string>, name: string | null): void {
  if (name !== null && names.size < MAX_NAMES) names.add(name);
}
