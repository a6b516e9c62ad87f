import { systemClock } from "../../kernel/clock.ts";
import { integrityProblem, runInThread } from "../query-thread.ts";
import { snapshotDatabase } from "../snapshot.ts";
import type { FromCopyProcess, ReplicaCopy } from "./copy-replica.ts";
import type { Snapshot } from "./snapshot.ts";

const STATE = "SELECT identity, position FROM replica_state";
/** Maximum duration of reading the position of a copy, in milliseconds. */
const STATE_TIMEOUT_MS = 60_000;

// The connection ends when the engine has ended. The process is killed without closing the file, because a new engine
// may have replaced the file, and closing would make SQLite remove the write-ahead log of the new file.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
// Ignored here, because a terminal sends these signals to all processes of the engine. The engine decides when this
// process ends.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.once("message", (message) => {
  // The cast is safe, because copy-replica.ts sends no other messages.
  const copy = message as ReplicaCopy;
  copied(copy).then(
    (snapshot) => answer({ kind: "copied", snapshot }),
    (error: Error) => answer({ kind: "failed", message: error.message }),
  );
});

/**
 * Copies the replica, checks the copy and reads its position in the log. All of this runs in threads, so that the main
 * thread notices the end of the engine meanwhile.
 */
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
