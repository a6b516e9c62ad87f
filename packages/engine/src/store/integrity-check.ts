import { type Database, resultCodes, SqlError } from "./driver.ts";

/** Thrown if a database file cannot be used. The message for the user names the file, the problem and what to do. */
export class DatabaseRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "DatabaseRefused";
  }
}

/** Maximum number of findings that a message quotes. */
const QUOTED_PROBLEMS = 3;

/** Checks all pages of the database. Throws DatabaseRefused if it is damaged. */
export function refuseDamage(file: string, database: Database): void {
  const problems = findDamage(database);
  if (problems.length === 1 && problems[0] === "ok") return;
  const quoted = problems.slice(0, QUOTED_PROBLEMS).map((problem) => problem.replaceAll("\n", " "));
  throw new DatabaseRefused(damageText(file, quoted.join("; ")));
}

export function damageText(file: string, finding: string): string {
  return (
    `the database ${file} is damaged: ${finding}. Nothing was changed. To recover: copy ${file} and the files beside it that start with its name to a safe place, then restore a backup, ` +
    `or recover what is readable with \`sqlite3 ${file} .recover | sqlite3 ${file}.recovered\` and replace ${file} with the recovered file`
  );
}

/**
 * Returns the findings of SQLite's check, or only `ok`. The check itself may fail on a damaged page. It is then
 * repeated with a limit of one finding, because it stops at that finding and so does not reach the page on which it
 * fails.
 */
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
