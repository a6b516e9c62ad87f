import { randomUUID } from "node:crypto";
import {
  type Follow,
  type Log,
  LogChanged,
  type LogEntry,
  type LogState,
  LogTruncated,
  LogUnavailable,
  MAX_ENTRY_BYTES,
} from "../../store/log.ts";

/** What happens to an append. `rejectedUnstored`: it fails before it is stored. `ackLost`: it is stored, then rejects. */
export type AppendFault = "none" | "rejectedUnstored" | "ackLost";

/** Faults of one engine's connection to the log. Each hook is optional; the defaults do no harm. */
export interface LogFaults {
  /** Called for each append. */
  onAppend?: (id: string) => AppendFault;
  /** An append is stored when this resolves. */
  beforeStored?: (id: string) => Promise<void>;
  /** The acknowledgement of a stored append arrives when this resolves. */
  beforeAck?: (id: string) => Promise<void>;
  /** The answer to a request for the state, an entry or a truncation arrives when this resolves. */
  beforeAnswer?: () => Promise<void>;
  /** Number of times that an entry is delivered to a reader. Default 1. */
  deliveries?: (entry: LogEntry) => number;
  /** Calls `action`, which hands a reader what it lacks, later. Default: in the next tick. */
  deliver?: (action: () => void) => void;
}

interface Reader {
  next: number;
  readonly connection: LogConnection;
  readonly onEntry: (entry: LogEntry) => void;
  readonly onFailed: (error: LogTruncated | LogChanged) => void;
}

/** A log in memory. Each engine has a connection of its own. */
export class MemoryLog {
  #identity: string;
  readonly #entries: LogEntry[] = [];
  #truncated = 0;
  #bytes = 0;
  /** Positions by id. Cleared to simulate a log that no longer knows old ids. */
  readonly #positions = new Map<string, number>();
  readonly #readers = new Set<Reader>();

  constructor(identity: string = randomUUID()) {
    this.#identity = identity;
  }

  connect(faults: LogFaults = {}): LogConnection {
    return new LogConnection(this, faults);
  }

  state(): LogState {
    const last = this.#truncated + this.#entries.length;
    return { identity: this.#identity, first: this.#truncated + 1, last, bytes: this.#bytes };
  }

  at(position: number): LogEntry | undefined {
    return this.#entries[position - this.#truncated - 1];
  }

  store(id: string, bytes: Uint8Array): number {
    const known = this.#positions.get(id);
    if (known !== undefined) return known;
    const position = this.state().last + 1;
    this.#entries.push({ position, id, bytes: bytes.slice() });
    this.#bytes += bytes.length;
    this.#positions.set(id, position);
    this.deliver();
    return position;
  }

  truncate(before: number): void {
    const removed = Math.max(0, Math.min(before - 1, this.state().last) - this.#truncated);
    this.#remove(0, removed);
    this.#truncated += removed;
  }

  /** Forgets which ids it has, so that the next append of one is stored again. */
  forgetIds(): void {
    this.#positions.clear();
  }

  /** Loses all entries after the position, as servers that lost power without a sync do. */
  goBack(to: number): void {
    this.#remove(Math.max(0, to - this.#truncated), this.#entries.length);
    this.forgetIds();
    this.deliver();
  }

  /** Becomes an empty log with another identity. */
  replace(): void {
    this.#identity = randomUUID();
    this.#remove(0, this.#entries.length);
    this.#truncated = 0;
    this.forgetIds();
    for (const reader of this.#readers) this.#fail(reader, new LogChanged("the log is another one than before"));
  }

  addReader(reader: Reader): void {
    this.#readers.add(reader);
    this.deliver();
  }

  removeReader(reader: Reader): void {
    this.#readers.delete(reader);
  }

  /** Hands each reader what it lacks, later. */
  deliver(): void {
    for (const reader of this.#readers) {
      const { deliver = process.nextTick } = reader.connection.faults;
      deliver(() => this.#deliverTo(reader));
    }
  }

  #remove(from: number, count: number): void {
    for (const { bytes } of this.#entries.splice(from, count)) this.#bytes -= bytes.length;
  }

  #deliverTo(reader: Reader): void {
    while (this.#readers.has(reader) && reader.connection.isUp) {
      const { first, last } = this.state();
      const entry = this.at(reader.next);
      if (entry === undefined) {
        if (reader.next < first)
          this.#fail(reader, new LogTruncated(`the log begins at ${first}, after ${reader.next}`));
        if (reader.next > last + 1)
          this.#fail(reader, new LogChanged(`the log ends at ${last}; it had ${reader.next - 1} entries before`));
        return;
      }
      reader.next += 1;
      const times = reader.connection.faults.deliveries?.(entry) ?? 1;
      for (let count = 0; count < times; count += 1) reader.onEntry(entry);
    }
  }

  #fail(reader: Reader, error: LogTruncated | LogChanged): void {
    this.#readers.delete(reader);
    reader.onFailed(error);
  }
}

/** The log as one engine reaches it. */
export class LogConnection implements Log {
  readonly faults: LogFaults;
  readonly #log: MemoryLog;
  #isUp = true;

  constructor(log: MemoryLog, faults: LogFaults) {
    this.#log = log;
    this.faults = faults;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Cuts the connection, or restores it. */
  setUp(isUp: boolean): void {
    this.#isUp = isUp;
    this.#log.deliver();
  }

  async append(id: string, bytes: Uint8Array): Promise<number> {
    if (bytes.length > MAX_ENTRY_BYTES) throw new Error(`an entry has ${bytes.length} bytes, more than the log takes`);
    const fault = this.faults.onAppend?.(id) ?? "none";
    await this.faults.beforeStored?.(id);
    if (fault === "rejectedUnstored") throw new LogUnavailable("a test: the entry was not stored");
    this.#checkUp();
    const position = this.#log.store(id, bytes);
    await this.faults.beforeAck?.(id);
    if (fault === "ackLost") throw new LogUnavailable("a test: the acknowledgement was lost");
    this.#checkUp();
    return position;
  }

  follow(from: number, onEntry: Reader["onEntry"], onFailed: Reader["onFailed"]): Follow {
    const reader: Reader = { next: from, connection: this, onEntry, onFailed };
    this.#log.addReader(reader);
    return { stop: () => this.#log.removeReader(reader) };
  }

  async read(position: number): Promise<LogEntry | undefined> {
    await this.faults.beforeAnswer?.();
    this.#checkUp();
    return this.#log.at(position);
  }

  async state(): Promise<LogState> {
    await this.faults.beforeAnswer?.();
    this.#checkUp();
    return this.#log.state();
  }

  async truncate(before: number): Promise<void> {
    await this.faults.beforeAnswer?.();
    this.#checkUp();
    this.#log.truncate(before);
  }

  #checkUp(): void {
    if (!this.#isUp) throw new LogUnavailable("the log cannot be reached");
  }
}
