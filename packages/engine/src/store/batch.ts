import { type Database, resultCodes, SqlError } from "./driver.ts";
import { isRefusal, type ProcedureTable, type WriteBuffer } from "./procedures.ts";
import type { Answer, Request } from "./thread-messages.ts";

/**
 * Thrown if the database failed, not a single request. Nothing of the batch was committed, and the connection must not
 * be used again.
 */
export class DatabaseFailed extends Error {
  /** True after an I/O error or a damaged file: the file must be checked before it is used again. */
  readonly suspect: boolean;
  /**
   * True if the commit failed. The batch's writes may be in SQLite's write-ahead log, but none of its requests was
   * acknowledged.
   */
  readonly isOfCommit: boolean;
  /** SQLite's primary result code. */
  readonly resultCode: number;

  constructor(cause: SqlError, during: string) {
    super(`${cause.message} (during ${during})`, { cause });
    this.name = "DatabaseFailed";
    this.isOfCommit = during === "COMMIT";
    this.resultCode = cause.resultCode;
    this.suspect =
      cause.resultCode === resultCodes.ioError ||
      cause.resultCode === resultCodes.corrupt ||
      cause.resultCode === resultCodes.notADatabase;
  }
}

type Run = (input: unknown) => unknown;

/**
 * Runs the requests in order and commits them as one transaction. A failed request is rolled back alone. If the results
 * become large, the batch ends early and returns fewer results than requests. The caller must run the remaining
 * requests in another batch. `beforeCommit` runs in the same transaction. Throws DatabaseFailed if the database failed;
 * nothing of the batch is then written.
 */
export function runBatch(
  database: Database,
  procedures: ProcedureTable,
  buffer: WriteBuffer,
  requests: readonly Request[],
  beforeCommit: BeforeCommit = () => {},
): Answer[] {
  if (!requests.some((request) => procedureOf(procedures, request)?.kind === "write")) {
    return answersTo(requests, (request) => runAlone(procedures, request));
  }
  // The first run has no savepoints, because they cost a fifth of the throughput and failures are rare. If a request
  // fails, everything is rolled back and run again with savepoints.
  const first = inTransaction(database, buffer, () => runAll(procedures, requests), beforeCommit);
  const isolated = (): Answer[] => runIsolated(database, procedures, buffer, requests);
  return first ?? inTransaction(database, buffer, isolated, beforeCommit) ?? [];
}

/** Called in the transaction, after the requests, with the results of the requests that ran. */
type BeforeCommit = (answers: readonly Answer[]) => void;

/** Options for applying an entry of a replicated log to the database. An entry is a list of write requests. */
export interface EntryParts {
  /** Number of the entry's requests that are applied already, e.g. by a run that crashed. */
  readonly from: number;
  /**
   * Stores in the transaction how many of the entry's requests are applied. `answers` are the results of this
   * transaction's requests.
   */
  readonly storePosition: (applied: number, answers: readonly Answer[]) => void;
  /**
   * Called after each commit with the results of the committed requests. `first` is the index of the first request that
   * was committed.
   */
  readonly onPart: (answers: readonly Answer[], first: number) => void;
}

/**
 * Runs all writes of a log entry. If the results are large, the writes are split into several transactions. Each
 * transaction stores how many writes are applied. So no write is skipped or runs twice after a crash between two
 * transactions.
 */
export function runEntry(
  database: Database,
  procedures: ProcedureTable,
  buffer: WriteBuffer,
  requests: readonly Request[],
  { from, storePosition, onPart }: EntryParts,
): void {
  for (let applied = from; applied < requests.length; ) {
    const first = applied;
    const answers = runBatch(database, procedures, buffer, requests.slice(first), (answered) =>
      storePosition(first + answered.length, answered),
    );
    onPart(answers, first);
    applied += answers.length;
  }
}

/** A batch ends when its results have this many characters in total, so that large results do not use up the memory. */
const MAX_ANSWER_CHARACTERS = 32 * 1024 * 1024;

/**
 * Runs requests in order, at least one, until the results reach `MAX_ANSWER_CHARACTERS` or `continues` returns false.
 */
export function answersTo(
  requests: readonly Request[],
  run: (request: Request) => Answer,
  continues: (answer: Answer) => boolean = () => true,
): Answer[] {
  const answers: Answer[] = [];
  let characters = 0;
  for (const request of requests) {
    const result = run(request);
    answers.push(result);
    if (result.status === "done") characters += charactersIn(result.output);
    if (characters >= MAX_ANSWER_CHARACTERS || !continues(result)) break;
  }
  return answers;
}

function charactersIn(output: unknown): number {
  if (typeof output === "string") return output.length;
  if (typeof output !== "object" || output === null || ArrayBuffer.isView(output)) return 0;
  let characters = 0;
  for (const name in output) characters += charactersIn((output as Readonly<Record<string, unknown>>)[name]);
  return characters;
}

/** Runs a request without rolling back its changes if it fails. */
export function runAlone(procedures: ProcedureTable, request: Request): Answer {
  return answer(procedures, request, (run, input) => run(input));
}

export function isRead(procedures: ProcedureTable, request: Request): boolean {
  return procedureOf(procedures, request)?.kind === "read";
}

/** Runs `work` in a transaction. Commits it, or rolls it back if `work` returns undefined. */
function inTransaction(
  database: Database,
  buffer: WriteBuffer,
  work: () => Answer[] | undefined,
  beforeCommit: BeforeCommit,
): Answer[] | undefined {
  command(database, "BEGIN IMMEDIATE");
  try {
    const answers = work();
    if (answers === undefined) {
      buffer.discard();
      command(database, "ROLLBACK");
      return undefined;
    }
    flush(buffer);
    beforeCommit(answers);
    command(database, "COMMIT");
    return answers;
  } catch (thrown) {
    buffer.discard();
    undo(database);
    throw thrown;
  }
}

/** Writes the buffered changes. A failure fails the whole batch, because the changes belong to several requests. */
function flush(buffer: WriteBuffer): void {
  try {
    buffer.flush();
  } catch (thrown) {
    throw thrown instanceof SqlError ? new DatabaseFailed(thrown, "flush of buffered changes") : thrown;
  }
}

function runAll(procedures: ProcedureTable, requests: readonly Request[]): Answer[] | undefined {
  const answers = answersTo(
    requests,
    (request) => runAlone(procedures, request),
    (result) => result.status === "done",
  );
  return answers[answers.length - 1]?.status === "done" ? answers : undefined;
}

function runIsolated(
  database: Database,
  procedures: ProcedureTable,
  buffer: WriteBuffer,
  requests: readonly Request[],
): Answer[] {
  return answersTo(requests, (request) =>
    answer(procedures, request, (run, input) => {
      command(database, "SAVEPOINT request");
      try {
        const output = run(input);
        flush(buffer);
        command(database, "RELEASE request");
        return output;
      } catch (thrown) {
        buffer.discard();
        if (!endsBatch(thrown)) command(database, "ROLLBACK TO request; RELEASE request");
        throw thrown;
      }
    }),
  );
}

function answer(procedures: ProcedureTable, request: Request, execute: (run: Run, input: unknown) => unknown): Answer {
  const procedure = procedureOf(procedures, request);
  if (procedure === undefined) return { status: "failed", message: `the store has no procedure ${request.procedure}` };
  try {
    // The cast is safe, because the type of `Store.call` matches each procedure's name with its input.
    return { status: "done", output: execute(procedure.run as Run, request.input) };
  } catch (thrown) {
    if (thrown instanceof DatabaseFailed) throw thrown;
    if (isRefusal(thrown))
      return { status: "refused", code: thrown.code, message: thrown.message, details: thrown.details };
    if (thrown instanceof SqlError && endsBatch(thrown)) throw new DatabaseFailed(thrown, request.procedure);
    return {
      status: "failed",
      message: `${request.procedure}: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
    };
  }
}

function procedureOf(procedures: ProcedureTable, request: Request): ProcedureTable[string] | undefined {
  return Object.hasOwn(procedures, request.procedure) ? procedures[request.procedure] : undefined;
}

/**
 * Result codes of a single faulty statement (1: SQLITE_ERROR, 18: too big, 19: constraint, 20: mismatch, 25: range).
 * All other codes mean that the database failed.
 */
const ofOneRequest: ReadonlySet<number> = new Set([1, 18, resultCodes.constraint, 20, 25]);

function endsBatch(thrown: unknown): boolean {
  return thrown instanceof DatabaseFailed || (thrown instanceof SqlError && !ofOneRequest.has(thrown.resultCode));
}

function command(database: Database, sql: string): void {
  try {
    database.exec(sql);
  } catch (thrown) {
    throw thrown instanceof SqlError ? new DatabaseFailed(thrown, sql) : thrown;
  }
}

/** Rolls back. Ignores an SqlError, because after some failures SQLite has already rolled back. */
function undo(database: Database): void {
  try {
    database.exec("ROLLBACK");
  } catch (thrown) {
    if (!(thrown instanceof SqlError)) throw thrown;
  }
}
