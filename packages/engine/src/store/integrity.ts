import { type AsideOptions, runAside } from "./aside.ts";

/** How long the check of one database may take, in milliseconds. */
const CHECK_TIMEOUT_MS = 60 * 60_000;

/** Checks a database that is in use, in a thread of its own: pages, indexes against their tables, constraints. Resolves with what is wrong, undefined when nothing is. */
export async function integrityProblem(options: Omit<AsideOptions, "timeoutMs">): Promise<string | undefined> {
  const rows = await runAside("PRAGMA integrity_check(3)", [], { ...options, timeoutMs: CHECK_TIMEOUT_MS });
  const problems = rows.map((row) => String(row.integrity_check).replaceAll("\n", " "));
  return problems.length === 1 && problems[0] === "ok" ? undefined : problems.join("; ");
}
