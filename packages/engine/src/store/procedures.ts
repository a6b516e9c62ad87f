import type { Procedure, ProcedureTable } from "../kernel/store-contract.ts";
import type { Database } from "./driver.ts";

export type { InputOf, OutputOf, Procedure, ProcedureTable } from "../kernel/store-contract.ts";

/**
 * Buffer for changes that procedures collect over the requests of a transaction, e.g. counts. `flush` writes them; it
 * is called before each commit. `discard` drops them; it is called after a rollback of the changes since the last
 * `flush`.
 */
export interface WriteBuffer {
  flush(): void;
  discard(): void;
}

/** Time as procedures see it. It is the same for all requests of a batch. */
export interface StoreTime {
  /**
   * Time of the log, in milliseconds. It never goes back, also over restarts. It passes as the monotonic clock does,
   * whatever happens to the wall clock; until the wall clock is set it equals that. For durations: what is due after a
   * delay, what expires.
   */
  now(): number;
  /**
   * Wall clock of the engine that made the request, in milliseconds since 1970. It may jump. For records, and for
   * instants that a user chose.
   */
  wall(): number;
}

/** Runs of engines that use the database, as procedures see them. The same on all replicas. */
export interface StoreRuns {
  /** True while the run is a member of the log. A database without a log knows no runs. */
  isMember(run: string): boolean;
}

/** Exports of a file of procedures. */
export interface ProceduresModule {
  /**
   * SQL migrations, one per schema version. Append only. The database's version is the number of executed migrations.
   */
  readonly schema: readonly string[];
  /**
   * Called after the schema is upgraded, and again after each reopening. May register one buffer with `useBuffer`
   * before it returns. `time` is that of the running batch.
   */
  openProcedures(
    database: Database,
    useBuffer: (buffer: WriteBuffer) => void,
    time: StoreTime,
    runs: StoreRuns,
  ): ProcedureTable;
}

export function read<Input, Output>(run: (input: Input) => Output): Procedure<Input, Output> {
  return { kind: "read", run };
}

export function write<Input, Output>(run: (input: Input) => Output): Procedure<Input, Output> {
  return { kind: "write", run };
}

/**
 * Marks a refusal. Not `instanceof`: in the bundled engine, the procedures of a store in memory import this file a
 * second time.
 */
const REFUSAL = Symbol.for("svc.store.refusal");

/**
 * Thrown by a procedure to reject its request. The caller gets a CallError with this code. Other requests of the batch
 * are not affected.
 */
export class Refusal extends Error {
  readonly [REFUSAL] = true;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: string, message: string, details?: Readonly<Record<string, unknown>>) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.details = details;
  }
}

export function isRefusal(thrown: unknown): thrown is Refusal {
  return thrown instanceof Error && REFUSAL in thrown;
}
