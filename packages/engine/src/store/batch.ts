import { type Database, resultCodes, SqlError } from "./driver.ts";
import { type Gathering, type ProcedureTable, Refusal } from "./procedures.ts";
import type { Answer, Request } from "./thread-messages.ts";

/** The database, not one request, is out of order: nothing of the batch was committed, and the connection must not be used again. */
export class DatabaseFailed extends Error {
  /** True after an error of the disk or of the file's content: the file must be checked before it is used again. */
  readonly suspect: boolean;
  /** The commit failed: what it wrote may be in the log, and none of its requests was acknowledged. */
  readonly isOfCommit: boolean;

  constructor(cause: SqlError, during: string) {
    super(`${cause.message} (during ${during})`, { cause });
    this.name = "DatabaseFailed";
    this.isOfCommit = during === "COMMIT";
    this.suspect = cause.resultCode === resultCodes.ioError || cause.resultCode === resultCodes.corrupt || cause.resultCode === resultCodes.notADatabase;
  }
}

type Run = (input: unknown) => unknown;

/**
 * Runs the requests in order and commits them as one transaction. One that fails is undone by itself and does not touch the others. When the answers
 * grow large it ends early: those that it did not come to have no answer, and are to be run in another batch.
 * Throws DatabaseFailed when the database is out of order; nothing of the batch is then written.
 */
export function runBatch(database: Database, procedures: ProcedureTable, gathering: Gathering, requests: readonly Request[]): Answer[] {
  if (!requests.some((request) => procedureOf(procedures, request)?.kind === "write")) {
    return answersTo(requests, (request) => runAlone(procedures, request));
  }
  // Savepoints cost a fifth of the throughput, and failures are rare. So the first run goes without; if a request fails in it, all of it is undone and run again with them.
  const first = inTransaction(database, gathering, () => runAll(procedures, requests));
  return first ?? inTransaction(database, gathering, () => runIsolated(database, procedures, gathering, requests)) ?? [];
}

/** Characters of text in the answers after which a batch ends, so that what many requests ask for is not in memory all at once. */
const MAX_ANSWER_CHARACTERS = 32 * 1024 * 1024;

/** Answers of the first requests, of one at least: until they are large together, or `goesOn` says no of one. */
export function answersTo(requests: readonly Request[], run: (request: Request) => Answer, goesOn: (answer: Answer) => boolean = () => true): Answer[] {
  const answers: Answer[] = [];
  let characters = 0;
  for (const request of requests) {
    const result = run(request);
    answers.push(result);
    if (result.status === "done") characters += charactersIn(result.output);
    if (characters >= MAX_ANSWER_CHARACTERS || !goesOn(result)) break;
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

/** Runs one request as it is, without undoing what it did should it fail. */
export function runAlone(procedures: ProcedureTable, request: Request): Answer {
  return answer(procedures, request, (run, input) => run(input));
}

export function isRead(procedures: ProcedureTable, request: Request): boolean {
  return procedureOf(procedures, request)?.kind === "read";
}

/** Commits what `work` did, or undoes it when that answers undefined. */
function inTransaction(database: Database, gathering: Gathering, work: () => Answer[] | undefined): Answer[] | undefined {
  command(database, "BEGIN IMMEDIATE");
  try {
    const answers = work();
    if (answers === undefined) {
      gathering.discard();
      command(database, "ROLLBACK");
      return undefined;
    }
    flush(gathering);
    command(database, "COMMIT");
    return answers;
  } catch (thrown) {
    gathering.discard();
    undo(database);
    throw thrown;
  }
}

/** What cannot be written of the gathered belongs to no single request. */
function flush(gathering: Gathering): void {
  try {
    gathering.flush();
  } catch (thrown) {
    throw thrown instanceof SqlError ? new DatabaseFailed(thrown, "what was gathered") : thrown;
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

function runIsolated(database: Database, procedures: ProcedureTable, gathering: Gathering, requests: readonly Request[]): Answer[] {
  return answersTo(requests, (request) =>
    answer(procedures, request, (run, input) => {
      command(database, "SAVEPOINT request");
      try {
        const output = run(input);
        flush(gathering);
        command(database, "RELEASE request");
        return output;
      } catch (thrown) {
        gathering.discard();
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
    // The table holds procedures of different inputs; `Store.call` has matched name and input by type.
    return { status: "done", output: execute(procedure.run as Run, request.input) };
  } catch (thrown) {
    if (thrown instanceof DatabaseFailed) throw thrown;
    if (thrown instanceof Refusal) return { status: "refused", code: thrown.code, message: thrown.message, details: thrown.details };
    if (thrown instanceof SqlError && endsBatch(thrown)) throw new DatabaseFailed(thrown, request.procedure);
    return { status: "failed", message: `${request.procedure}: ${thrown instanceof Error ? thrown.message : String(thrown)}` };
  }
}

function procedureOf(procedures: ProcedureTable, request: Request): ProcedureTable[string] | undefined {
  return Object.hasOwn(procedures, request.procedure) ? procedures[request.procedure] : undefined;
}

/** A statement may be wrong by itself (1, SQLITE_ERROR; 18, too big; 19, constraint; 20, mismatch; 25, range); everything else is about the database. */
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

/** After some failures SQLite has rolled back by itself and says that there is nothing left to undo. */
function undo(database: Database): void {
  try {
    database.exec("ROLLBACK");
  } catch (thrown) {
    if (!(thrown instanceof SqlError)) throw thrown;
  }
}
