import { fork } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { removeDrafts } from "../../files/replace-file.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { DriverName } from "../driver.ts";
import type { Snapshot } from "./snapshot.ts";

/** How long the process may take, in milliseconds: more than the statements that it runs may take together. */
const TIMEOUT_MS = 100 * 60_000;

/** What is copied, and where to. Absolute paths. */
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
 * Writes a copy of a replica that is in use to a new file, and checks it. Resolves with its position. It is made by a
 * process of its own: SQLite cannot interrupt a statement, and its thread cannot be ended, but a process can. So a
 * rejection because of the signal comes at once. Leaves no file then.
 */
export async function copyReplica(copy: ReplicaCopy, signal: AbortSignal): Promise<Snapshot> {
  signal.throwIfAborted();
  const child = fork(fileURLToPath(new URL("./copy-replica-entry.js", import.meta.url)), [], { execArgv: [] });
  const answers: FromCopyProcess[] = [];
  // The entry sends nothing else.
  child.on("message", (message) => answers.push(message as FromCopyProcess));
  const end = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", end, { once: true });
  const cancelTimeout = systemClock.after(TIMEOUT_MS, end);
  try {
    // An error here is followed by the exit.
    child.send(copy, () => {});
    // The answer may arrive after the exit, but before the channel ends.
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
