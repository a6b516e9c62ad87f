import { type Database, resultCodes, SqlError } from "./driver.ts";

/** Why a database file cannot be used. The message names the file, what is wrong, and what to do; it is meant for the person who starts the engine. */
export class DatabaseRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "DatabaseRefused";
  }
}

/** Most damage that a message quotes. */
const QUOTED_PROBLEMS = 3;

/** Checks all pages of the database. Throws DatabaseRefused with what is wrong and what to do. */
export function refuseDamage(file: string, database: Database): void {
  const problems = findDamage(database);
  if (problems.length === 1 && problems[0] === "ok") return;
  const quoted = problems.slice(0, QUOTED_PROBLEMS).map((problem) => problem.replaceAll("\n", " "));
  throw new DatabaseRefused(damageText(file, quoted.join("; ")));
}

export function damageText(file: string, finding: string): string {
  return (
    `the database ${file} is damaged: ${finding}. Nothing was changed. To go on: copy ${file} and the files beside it that begin with its name to a safe place, then restore a backup, ` +
    `or recover what is readable with \`sqlite3 ${file} .recover | sqlite3 ${file}.recovered\` and put the recovered file in its place`
  );
}

/** What the check found; `ok` alone when it found nothing. It looks at pages first, and then may fail on what it reads from them: with a limit of one finding it does not get that far. */
function findDamage(database: Database): string[] {
  try {
    return database
      .prepare<CheckRow>("PRAGMA quick_check(10)")
      .all()
      .map((row) => row.quick_check);
  } catch (thrown) {
    if (!(thrown instanceof SqlError) || thrown.resultCode !== resultCodes.corrupt) throw thrown;
    return [database.prepare<CheckRow>("PRAGMA quick_check(1)").get()?.quick_check ?? thrown.message];
  }
}

type CheckRow = { readonly quick_check: string };
