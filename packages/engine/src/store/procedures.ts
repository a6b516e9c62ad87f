import type { Database } from "./driver.ts";

/**
 * An operation of the store, run in the store thread. It is synchronous and may change only the database, because it is
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
 * Buffer for changes that procedures collect over the requests of a transaction, e.g. counts. `flush` writes them; it
 * is called before each commit. `discard` drops them; it is called after a rollback of the changes since the last
 * `flush`.
 */
export interface WriteBuffer {
  flush(): void;
  discard(): void;
}

/** Exports of a file of procedures. */
export interface ProceduresModule {
  /**
   * SQL migrations, one per schema version. Append only. The database's version is the number of executed migrations.
   */
  readonly schema: readonly string[];
  /**
   * Called after the schema is upgraded, and again after each reopening. May register one buffer with `useBuffer`
   * before it returns.
   */
  openProcedures(database: Database, useBuffer: (buffer: WriteBuffer) => void): ProcedureTable;
}

export function read<Input, Output>(run: (input: Input) => Output): Procedure<Input, Output> {
  return { kind: "read", run };
}

export function write<Input, Output>(run: (input: Input) => Output): Procedure<Input, Output> {
  return { kind: "write", run };
}

/**
 * Thrown by a procedure to reject its request. The caller gets a CallError with this code. Other requests of the batch
 * are not affected.
 */
export class Refusal extends Error {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: string, message: string, details?: Readonly<Record<string, unknown>>) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.details = details;
  }
}
