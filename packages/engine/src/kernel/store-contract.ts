import type { Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";
import type { Undo } from "./scope.ts";

/**
 * An operation of a store, run in the store's thread. It is synchronous and may change only the database, because it is
 * rolled back and run again if another request of its batch fails. Input and output are copied between threads.
 */
export interface Procedure<Input, Output> {
  /**
   * A `write` runs in the batch's transaction and is acknowledged after the commit. A batch with only reads has no
   * transaction.
   */
  readonly kind: "read" | "write";
  run(input: Input): Output;
}

/** Procedures by name. The input type is `never` because each procedure has its own. */
export type ProcedureTable = Readonly<Record<string, Procedure<never, unknown>>>;

export type InputOf<P> = P extends Procedure<infer Input, unknown> ? Input : never;
export type OutputOf<P> = P extends Procedure<never, infer Output> ? Output : never;

/**
 * Failures that an acknowledged write survives. `durable`: a power cut. `relaxed`: a crash of the process, but a power
 * cut may lose the writes of the last second.
 */
export type StoreDurability = "durable" | "relaxed";

export interface CallStoreOptions {
  /** Size of the input's data, in bytes. Counts against the limit of pending requests. Default 0. */
  readonly bytes?: number;
  /**
   * True if the write may wait up to 1 ms, so that it is committed together with other writes. For writes for whose
   * result nobody waits, because a separate sync for such a write would delay the next write.
   */
  readonly mayWait?: boolean;
  /**
   * True if the read must see every write that was acknowledged by any run before, even if the
   * replicated store was opened with `reads: "session"`.
   */
  readonly isLatest?: boolean;
  /** A value that the listeners of `onApplied` get with this write. It is not stored and not sent to other runs. */
  readonly mark?: unknown;
}

/** A committed write. Input and output must not be changed. */
export type AppliedWrite<Procedures extends ProcedureTable> = {
  [Name in keyof Procedures & string]: {
    readonly procedure: Name;
    readonly input: InputOf<Procedures[Name]>;
    readonly output: OutputOf<Procedures[Name]>;
    /** True if this run made the write. */
    readonly isOwn: boolean;
    /** The mark of an own write; undefined if it has none. */
    readonly mark: unknown;
  };
}[keyof Procedures & string];

/**
 * A SQLite database that is accessed through procedures. A write resolves after it is synced, unless the store is
 * `relaxed` or in memory. All requests of an event loop turn are committed as one transaction. Later requests wait for
 * the next batch.
 */
export interface Store<Procedures extends ProcedureTable> {
  /** Id of this run: the time from the opening of the store to its end. Leases and claims in the store name it. */
  readonly run: string;
  /** True if other runs may write at any time. Then results must not be cached for later reads. */
  readonly isShared: boolean;
  /**
   * Returns the runs that use the database, including this run. Leases and claims of all other runs are orphaned. A run
   * that has just joined may be missing. A run that has left never comes back.
   */
  members(): readonly string[];
  /**
   * Calls the listener when other runs have left the database or were expelled from it. They never come back, so their
   * leases and claims are orphaned from then on.
   */
  onRunsGone(listener: (runs: readonly string[]) => void): Undo;
  /**
   * Runs a procedure. Requests run in call order, and their promises settle in that order.
   *
   * Rejects with CallError: the procedure's own code (Refusal), `storage_failed` if the disk or the thread failed,
   * `store_unavailable` if the log of a replicated store did not answer, `run_expelled` if this run may not write to it
   * any more, `overloaded` above the limits, `call_timeout`, or `draining` after `close`. For `storage_failed`,
   * `store_unavailable` and `call_timeout`, `details.outcome` is `unknown` if a write may have happened or may still
   * happen, else `not_written`.
   */
  call<Name extends keyof Procedures & string>(
    name: Name,
    input: InputOf<Procedures[Name]>,
    options?: CallStoreOptions,
  ): Promise<OutputOf<Procedures[Name]>>;
  /**
   * Runs a reading procedure at once on the data of this run. In a cluster, the data may lack the latest writes; these
   * are reported to `onApplied` later. Rejects like `call`.
   */
  readLocal<Name extends keyof Procedures & string>(
    name: Name,
    input: InputOf<Procedures[Name]>,
  ): Promise<OutputOf<Procedures[Name]>>;
  /**
   * Calls the listener for each committed write of any run, in the order in which the writes ran. A write of this run
   * is reported before its promise settles. If the promise was rejected because of the timeout, the write is still
   * reported when it is committed. Writes without a known outcome (`storage_failed` with `outcome: unknown`) are not
   * reported. The listener must not throw.
   */
  onApplied(listener: (applied: AppliedWrite<Procedures>) => void): Undo;
  /**
   * Returns how far the wall clock is ahead of the store's time, in milliseconds; negative if it is behind. A time in
   * the store that comes from a duration is this much later on the wall clock. 0 until the wall clock is set.
   */
  skewMs(): number;
  /** Returns the reason why writes fail at present, or undefined if they work. */
  problem(): string | undefined;
  /** Returns a description of lost or damaged data while the store still works. Undefined if no damage is known. */
  damage(): string | undefined;
  /** Finishes pending requests, checkpoints the log and ends the thread. */
  close(): Promise<void>;
}

export interface StoreOptions {
  /**
   * Absolute path of the database. Its folder must exist. The caller must prevent use by other processes
   * (`lockDataFolder`). Undefined: the database is in memory, and ends with the store.
   */
  readonly file: string | undefined;
  /**
   * URL of the file that exports `schema` and `openProcedures`, e.g. `new URL("./file-procedures.js",
   * import.meta.url)`.
   */
  readonly procedures: URL;
  /**
   * Name of the log that all engines of the cluster write to, e.g. `queue`. The database is then a replica of it. Only
   * in a cluster. Default: the database belongs to this engine alone.
   */
  readonly shared?: string | undefined;
  /** `relaxed`: writes resolve before they are synced; the sync follows within a second. Default `durable`. */
  readonly durability?: StoreDurability | undefined;
  /**
   * True if the store's work is less urgent than calls, e.g. queries of traces. On Linux, the store's thread then gets
   * less processor time than the other threads while they have work. Default false.
   */
  readonly isBackground?: boolean | undefined;
  /** Called once, when the store has closed its file. */
  readonly onClosed?: () => void;
  /** Default: the module's. */
  readonly log?: Logger;
  /** Clock of the store's time. Default: the module's. */
  readonly clock?: Clock;
  /** Clock of the timeouts. Default: `clock`. */
  readonly timeoutClock?: Clock;
}

/**
 * Opens a store. Rejects with an Error with a user message if the file is damaged, has a newer version, or cannot be
 * used.
 */
export type OpenStore = <Procedures extends ProcedureTable>(options: StoreOptions) => Promise<Store<Procedures>>;
