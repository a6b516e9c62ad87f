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
 * Failures that an acknowledged write survives. `durable`: a power cut. `relaxed`: a crash of the process; a power cut
 * may lose up to 1 s.
 */
export type StoreDurability = "durable" | "relaxed";

export interface CallStoreOptions {
  /** Size of the input's data, in bytes. Counts against the limit of pending requests. Default 0. */
  readonly bytes?: number;
  /**
   * The write may wait up to 1 ms for others to be committed with it. For writes whose result nobody waits for: a sync
   * of their own would delay the next one.
   */
  readonly mayWait?: boolean;
  /** The read sees every write that was acknowledged before, also if the store's reads are `session`. */
  readonly isLatest?: boolean;
  /** Passed to the listeners of `onApplied` with this write. Never leaves the process. */
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
  /** True if other runs may write at any time, so that an answer must not be kept to answer later reads. */
  readonly isShared: boolean;
  /**
   * Runs that use the database now, this one included. Another run may have joined since; a run that has left never
   * comes back. What any other run holds in it is orphaned.
   */
  members(): readonly string[];
  /**
   * Calls the listener when other runs have ended their use of the database for good: they left, or were expelled.
   * What they hold in it is orphaned from then on.
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
   * Runs a reading procedure at once on the data of this run. In a cluster they may lack the latest writes; the writes
   * that are missing are reported to `onApplied` later. Rejects like `call`.
   */
  readLocal<Name extends keyof Procedures & string>(
    name: Name,
    input: InputOf<Procedures[Name]>,
  ): Promise<OutputOf<Procedures[Name]>>;
  /**
   * Calls the listener for each committed write, in the order in which the writes ran, whichever run made them. A write
   * of this run is reported before its promise settles, and also if the promise was rejected before because of the
   * timeout. Writes without a known outcome (`storage_failed` with `outcome: unknown`) are not reported. The listener
   * must not throw.
   */
  onApplied(listener: (applied: AppliedWrite<Procedures>) => void): Undo;
  /**
   * Returns how far the wall clock is ahead of the store's time, in milliseconds; negative if it is behind. A time in
   * the store that comes from a duration is this much later on the wall clock. 0 until the wall clock is set.
   */
  skewMs(): number;
  /** Returns the reason why writes fail at present, or undefined if they work. */
  problem(): string | undefined;
  /** Returns what is lost or damaged although the store works, or undefined if nothing is known. */
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
   * True: what the store does is less urgent than calls, e.g. queries of traces. Where the system allows that (Linux),
   * its thread gets less processor time than the others while both have work. Default false.
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
