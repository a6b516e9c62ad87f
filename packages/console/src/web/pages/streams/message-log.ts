import type { Marker, MarkerFacts, MonitorRow, TappedBatch, TappedMessage, TapTotals } from "./message.ts";

/** Rows that are kept, and characters of their payloads: what is older goes. */
export const MAX_ROWS = 20_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** Seconds that the rate is the average of. */
const RATE_SECONDS = 5;

export interface Counters {
  /** Inbound and outbound: all that passed, those included that are not shown. */
  readonly total: number;
  readonly inbound: number;
  readonly outbound: number;
  readonly bytes: number;
  readonly perSecond: number;
  readonly buffered: number;
  /** Counted, not shown: left out of a batch by the engine, or lost with a batch. */
  readonly dropped: number;
  /** Something was lost that nobody counted, so that the figures are at least that. */
  readonly isAtLeast: boolean;
}

/** The latest messages and exact counts of all. Lives outside React; whoever shows it listens and reads. */
export class MessageLog {
  /** Those of `#rows` before `#start` are gone. */
  #rows: MonitorRow[] = [];
  #start = 0;
  #characters = 0;
  #nextSeq = 1;
  #inbound = 0;
  #outbound = 0;
  #bytes = 0;
  /** Messages that came, whether or not they are kept. */
  #received = 0;
  /** The engine's totals that these counters have taken in; undefined: they begin with the next ones. */
  #taken: TapTotals | undefined;
  #isAtLeast = false;
  readonly #perSecond = new Map<number, number>();
  readonly #listeners = new Set<() => void>();
  readonly #name: string;

  /** `name` makes the ids of rows differ from those of another visit. */
  constructor(name: string) {
    this.#name = name;
  }

  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  /** Where the engine's count stood when watching began: from there it is counted on, also over batches that are lost. */
  begin(totals: TapTotals): void {
    this.#taken ??= totals;
  }

  /** Nobody may have counted what passes from now on: the next count begins anew. */
  end(): void {
    this.#taken = undefined;
  }

  add({ messages, totals }: TappedBatch, nowMs: number): void {
    for (const message of messages) this.#push(message);
    this.#received += messages.length;
    if (totals !== undefined) this.#count(totals, nowMs);
    this.#trim();
    this.#tell();
  }

  #count(totals: TapTotals, nowMs: number): void {
    const before = this.#taken ?? totals;
    this.#taken = totals;
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
    remember(this.seen.streams, message.stream);
    remember(this.seen.groups, message.group);
    remember(this.seen.types, message.type);
  }

  /** Adds a row of the monitor's own. `loses`: messages may have passed meanwhile that nobody counted. */
  mark(facts: MarkerFacts, loses = false): Marker {
    const seq = this.#nextSeq++;
    const marker: Marker = { ...facts, kind: "marker", id: `${this.#name}-${seq}`, seq };
    this.#rows.push(marker);
    if (loses) this.#isAtLeast = true;
    this.#trim();
    this.#tell();
    return marker;
  }

  /** Adds to what a marker says, in place: whoever holds its row shows it. A new row where it is gone. */
  amend(marker: Marker, facts: Partial<MarkerFacts>): void {
    if (marker.seq < this.firstSeq) this.mark({ ...marker, ...facts });
    else Object.assign(marker, facts);
    this.#tell();
  }

  #trim(): void {
    while (this.#rows.length - this.#start > MAX_ROWS || this.#characters > MAX_CHARACTERS) {
      const row = this.#rows[this.#start] as MonitorRow;
      if (row.kind === "message") this.#characters -= row.payload.length;
      this.#start++;
    }
    // Moved in large steps: moving all for each row would cost more than all else.
    if (this.#start > MAX_ROWS / 4) {
      this.#rows = this.#rows.slice(this.#start);
      this.#start = 0;
    }
  }

  /** Oldest first. */
  rows(): readonly MonitorRow[] {
    return this.#start === 0 ? this.#rows : this.#rows.slice(this.#start);
  }

  /** Rows newer than `seq`, oldest first. */
  since(seq: number): readonly MonitorRow[] {
    let at = this.#rows.length;
    while (at > this.#start && (this.#rows[at - 1] as MonitorRow).seq > seq) at--;
    return this.#rows.slice(at);
  }

  /** Of the oldest row that is kept; of the next one when there is none. */
  get firstSeq(): number {
    return this.#rows[this.#start]?.seq ?? this.#nextSeq;
  }

  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  find(id: string): MonitorRow | undefined {
    return this.rows().find((row) => row.id === id);
  }

  /** Names that messages had, for choosing among them; at most 200 of each. */
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

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

const MAX_NAMES = 200;
function remember(names: Set<string>, name: string | null): void {
  if (name !== null && names.size < MAX_NAMES) names.add(name);
}
