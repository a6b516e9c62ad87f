/**
 * A replicated, ordered sequence of entries that several engines append to and read. What a store writes is in its log
 * first, and every replica applies the same entries in the same order.
 *
 * Guarantees of an implementation (`testing/log-suite.ts` checks them):
 * - **Order.** Positions are consecutive, and each reader gets the entries in the order of their positions.
 * - **Once.** Entries with the same id are stored once, at least while the engine that appended the id runs. A reader
 *   must nevertheless ignore an entry that it gets twice.
 * - **Durability.** An entry whose append resolved, or that a reader was given, survives what the log is built for: the
 *   loss of a minority of its servers. It is never changed.
 * - **Identity.** A log has an identity, which never changes. A log that replaces it has another identity.
 */
export interface Log {
  /**
   * Appends an entry and resolves with its position, also if an entry with this id is stored already. An entry has at
   * most MAX_ENTRY_BYTES.
   *
   * A rejection says nothing: the entry may be stored, now or later. Only reading tells. The caller tries again with
   * the same id. Settles within a few seconds. Rejects with LogChanged if trying again is of no use.
   */
  append(id: string, bytes: Uint8Array): Promise<number>;
  /**
   * Calls `onEntry` for each entry from position `from` on, in order, without gaps, until it is stopped. Continues by
   * itself after the log was unavailable. `onFailed` is called at most once, and nothing after it: with LogTruncated
   * if `from` is before the first entry, with LogChanged if the log lost entries or its identity changed.
   */
  follow(
    from: number,
    onEntry: (entry: LogEntry) => void,
    onFailed: (error: LogTruncated | LogChanged) => void,
  ): Follow;
  /** Returns the entry at a position, or undefined if it was truncated or is not there yet. Rejects if unavailable. */
  read(position: number): Promise<LogEntry | undefined>;
  /** Returns the log's present state. It may be older than another engine's. Rejects if unavailable. */
  state(): Promise<LogState>;
  /** Removes all entries before the position. Rejects if unavailable, and with LogChanged if it is another log now. */
  truncate(before: number): Promise<void>;
}

export interface LogEntry {
  /** 1 for the first entry of the log. */
  readonly position: number;
  readonly id: string;
  readonly bytes: Uint8Array;
}

export interface LogState {
  readonly identity: string;
  /** Position of the first entry that is kept; `last + 1` if none is. */
  readonly first: number;
  /** Position of the last entry; 0 if there never was one. */
  readonly last: number;
  /** Size of the entries that are kept, in bytes. */
  readonly bytes: number;
}

export interface Follow {
  stop(): void;
}

/** Maximum size of an entry, in bytes. */
export const MAX_ENTRY_BYTES = 512 * 1024;

/** The entry may be stored or not. */
export class LogUnavailable extends Error {
  override readonly name = "LogUnavailable";
}

/** The log is another one than before, or lost entries that it had. Nothing may be appended to it. */
export class LogChanged extends Error {
  override readonly name = "LogChanged";
}

/** The wanted entries were removed from the log. A snapshot must be read first. */
export class LogTruncated extends Error {
  override readonly name = "LogTruncated";
}
