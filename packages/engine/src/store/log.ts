/**
 * A replicated, ordered sequence of entries that several engines append to and read. A store first appends its writes
 * to its log. Every replica of the store then applies the same entries in the same order.
 *
 * Guarantees of an implementation (`testing/log-suite.ts` checks them):
 * - **Order.** Positions are consecutive, and each reader gets the entries in the order of their positions.
 * - **Once.** Entries with the same id are stored once, at least while the engine that appended the id runs. A reader
 *   must nevertheless ignore an entry that it gets twice.
 * - **Durability.** An entry is durable when its append resolved or when a reader got it. It then survives the loss of
 *   a minority of the log's servers. An entry is never changed.
 * - **Identity.** A log has an identity, which never changes. A log that replaces it has another identity.
 */
export interface Log {
  /**
   * Appends an entry and resolves with its position. If an entry with this id is stored already, resolves with the
   * position of that one. An entry has at most MAX_ENTRY_BYTES. Settles within a few seconds.
   *
   * After a rejection the outcome is unknown: the entry may be stored already, or may be stored later. Only a reader of
   * the log finds out. The caller must try again with the same id, except after LogChanged: no attempt can succeed
   * after it.
   */
  append(id: string, bytes: Uint8Array): Promise<number>;
  /**
   * Calls `onEntry` for each entry from position `from` on, in order and without gaps, until it is stopped. Continues
   * by itself after the log was unavailable. Calls `onFailed` at most once, and calls nothing after it: with
   * LogTruncated if `from` is before the first entry, with LogChanged if the log lost entries or its identity changed.
   */
  follow(
    from: number,
    onEntry: (entry: LogEntry) => void,
    onFailed: (error: LogTruncated | LogChanged) => void,
  ): Follow;
  /**
   * Returns the entry at a position. Returns undefined if the entry was truncated or does not exist yet. Rejects if the
   * log is unavailable.
   */
  read(position: number): Promise<LogEntry | undefined>;
  /**
   * Returns the present state of the log. It may be older than what another engine has read. Rejects if the log is
   * unavailable.
   */
  state(): Promise<LogState>;
  /**
   * Removes all entries before the position. Rejects if the log is unavailable, and with LogChanged if the log was
   * replaced.
   */
  truncate(before: number): Promise<void>;
}

export interface LogEntry {
  /** Position in the log. The first entry of the log has 1. */
  readonly position: number;
  readonly id: string;
  readonly bytes: Uint8Array;
}

export interface LogState {
  readonly identity: string;
  /** Position of the first entry that is still in the log; `last + 1` if no entry is. */
  readonly first: number;
  /** Position of the last entry; 0 if no entry was ever appended. */
  readonly last: number;
  /** Total size of the entries that are still in the log, in bytes. */
  readonly bytes: number;
}

export interface Follow {
  stop(): void;
}

/** Maximum size of an entry, in bytes. */
export const MAX_ENTRY_BYTES = 512 * 1024;

/** Thrown if the log did not answer. An entry that was being appended may be stored or not. */
export class LogUnavailable extends Error {
  override readonly name = "LogUnavailable";
}

/**
 * Thrown if the log was replaced by another one, or lost entries that it had. Nothing may be appended to it any more.
 */
export class LogChanged extends Error {
  override readonly name = "LogChanged";
}

/** Thrown if the requested entries were removed from the log. The reader must start from a snapshot instead. */
export class LogTruncated extends Error {
  override readonly name = "LogTruncated";
}
