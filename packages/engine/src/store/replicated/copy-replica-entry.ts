import { systemClock } from "../../kernel/clock.ts";
import { integrityProblem, runInThread } from "../query-thread.ts";
import { snapshotDatabase } from "../snapshot.ts";
import type { FromCopyProcess, ReplicaCopy } from "./copy-replica.ts";
import type { Snapshot } from "./snapshot.ts";

const STATE = "SELECT identity, position FROM replica_state";
/** How long the position of a copy may take to be read, in milliseconds. */
const STATE_TIMEOUT_MS = 60_000;

// The engine has ended. The file is not closed: a new engine may have replaced it, and SQLite would remove the
// write-ahead log of the new one.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
// A terminal sends it to all processes of the engine. The engine decides.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.once("message", (message) => {
  // copy-replica.ts sends nothing else.
  const copy = message as ReplicaCopy;
  copied(copy).then(
    (snapshot) => answer({ kind: "copied", snapshot }),
    (error: Error) => answer({ kind: "failed", message: error.message }),
  );
});

/** In threads, so that this one notices the end of the engine. The copy contains its position. */
async function copied({ file, target, identity, driver }: ReplicaCopy): Promise<Snapshot> {
  const options = { clock: systemClock, driver, signal: new AbortController().signal };
  await snapshotDatabase({ ...options, file, target });
  const problem = await integrityProblem({ ...options, file: target });
  if (problem !== undefined) throw new Error(`the copy of the replica is damaged: ${problem}`);
  const [row] = await runInThread(STATE, [], { ...options, file: target, timeoutMs: STATE_TIMEOUT_MS });
  return row === undefined
    ? { identity, position: 0 }
    : { identity: String(row.identity), position: Number(row.position) };
}

function answer(message: FromCopyProcess): void {
  process.send?.(message, () => process.exit());
}
