import { fork } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { removeDrafts } from "../../files/replace-file.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { DriverName } from "../driver.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * Timeout of the process, in milliseconds. It is longer than the timeouts of all statements of the process together.
 */
const TIMEOUT_MS = 100 * 60_000;

/** Source and target of a copy. The paths are absolute. */
export interface ReplicaCopy {
  readonly file: string;
  readonly target: string;
  readonly identity: string;
  readonly driver: DriverName;
}

export type FromCopyProcess =
  | { readonly kind: "copied"; readonly snapshot: Snapshot }
  | { readonly kind: "failed"; readonly message: string };

/**
 * Writes a copy of a replica to a new file and checks it, while the replica is in use. Resolves with the position of
 * the copy. A process of its own makes the copy, because a process can be killed: SQLite cannot interrupt a statement,
 * and its thread cannot be terminated. So the promise rejects at once when the signal aborts, and no file is left then.
 */
export async function copyReplica(copy: ReplicaCopy, signal: AbortSignal): Promise<Snapshot> {
  signal.throwIfAborted();
  const child = fork(fileURLToPath(new URL("./copy-replica-entry.js", import.meta.url)), [], { execArgv: [] });
  const answers: FromCopyProcess[] = [];
  // The cast is safe, because the entry sends no other messages.
  child.on("message", (message) => answers.push(message as FromCopyProcess));
  const end = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", end, { once: true });
  const cancelTimeout = systemClock.after(TIMEOUT_MS, end);
  try {
    // Errors are ignored here, because the process then exits.
    child.send(copy, () => {});
    // Wait for both events: the answer may arrive after the exit, but not after the disconnect.
    await Promise.all([once(child, "exit"), once(child, "disconnect")]);
    signal.throwIfAborted();
    const [answer] = answers;
    if (answer?.kind === "copied") return answer.snapshot;
    throw new Error(answer?.message ?? "the process that copies the replica ended without an answer");
  } catch (error) {
    removeDrafts(dirname(copy.target), (name) => name === basename(copy.target));
    rmSync(copy.target, { force: true });
    throw error;
  } finally {
    cancelTimeout();
    signal.removeEventListener("abort", end);
  }
}
