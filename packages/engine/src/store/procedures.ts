import type { Database } from "./driver.ts";

/**
 * One thing that the store can do, run inside the store thread. It is synchronous and touches nothing but the database:
 * after a failure elsewhere in its batch it is undone and run again. Input and output are copied between threads.
 */
export interface Procedure<Input, Output> {
  /** A `write` runs inside the batch's transaction and is answered after its commit; a batch of reads only needs no transaction. */
  readonly kind: "read" | "write";
  run(input: Input): Output;
}

/** `never` as input: a table may hold procedures of any input, and each is called with its own. */
export type ProcedureTable = Readonly<Record<string, Procedure<never, unknown>>>;

export type InputOf<P> = P extends Procedure<infer Input, unknown> ? Input : never;
export type OutputOf<P> = P extends Procedure<never, infer Output> ? Output : never;

/**
 * For procedures that gather something in memory over the requests of a transaction rather than write it each time, e.g. counts. `flush` writes what
 * was gathered: it is called before anything is committed. `discard` forgets it: it is called when what was done since the last `flush` was undone.
 */
export interface Gathering {
  flush(): void;
  discard(): void;
}

/** What a file of procedures exports. */
export interface ProceduresModule {
  /** SQL that leads from one schema version to the next; the database's version is how many of them have run. Only ever append. */
  readonly schema: readonly string[];
  /** Called once the schema is current, and again after each reopening. `gather` may be called once, before it returns. */
  openProcedures(database: Database, gather: (gathering: Gathering) => void): ProcedureTable;
}

export function read<Input, Output>(run: (input: Input) => Output): Procedure<Input, Output> {
  return { kind: "read", run };
}

export function write<Input, Output>(run: (input: Input) => Output): Procedure<Input, Output> {
  return { kind: "write", run };
}

/** Thrown by a procedure that will not do what was asked: its caller gets a CallError with this code, the rest of the batch is not touched. */
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
