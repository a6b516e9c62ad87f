import type { Procedure, ProcedureTable } from "../kernel/store-contract.ts";
import type { Database } from "./driver.ts";

export type { InputOf, OutputOf, Procedure, ProcedureTable } from "../kernel/store-contract.ts";

/**
 * Buffer for changes, e.g. of counts, that procedures collect during the requests of a transaction. `flush` writes the
 * changes; it is called before each commit. `discard` drops the changes since the last `flush`; it is called after a
 * rollback.
 */
export interface WriteBuffer {
  flush(): void;
  discard(): void;
}

/** Time that procedures read. It is the same for all requests of a batch. */
export interface StoreTime {
  /**
   * Time of the log, in milliseconds. It equals the wall clock until the wall clock is set. It passes like the
   * monotonic clock, and setting the wall clock does not change it. It never goes back, not even after a restart. Use
   * it for durations: delays and expiries.
   */
  now(): number;
  /**
   * Wall clock of the engine that made the request, in milliseconds since 1970. It may jump. Use it for timestamps in
   * records, and for points in time that a user chose.
   */
  wall(): number;
}

/** The runs of the engines that use the database. They are the same on all replicas. */
export interface StoreRuns {
  /** True while the run is a member of the log. Always false for a database without a log. */
  isMember(run: string): boolean;
}

/** Exports of a file of procedures. */
export interface ProceduresModule {
  /**
   * SQL migrations, one per schema version. New ones are only added at the end, because the version of a database is
   * the number of migrations that were executed on it.
   */
  readonly schema: readonly string[];
  /**
   * Called after the schema is upgraded, and again each time the database is reopened. May register one buffer with
   * `useBuffer` before it returns. `time` always has the time of the running batch.
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
 * Identifies a refusal. `instanceof` would not find all of them: in the bundled engine, the procedures of a store in
 * memory import this file a second time, so that there are two classes.
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
