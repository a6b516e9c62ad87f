import { keepPrivate } from "./private-file.ts";
import type { QueryThreadOptions } from "./query-thread.ts";
import { runInThread } from "./query-thread.ts";
import { writeWhole } from "./whole-file.ts";

export interface SnapshotOptions extends Omit<QueryThreadOptions, "timeoutMs"> {
  /** Absolute path of the new file. It must not exist. */
  readonly target: string;
}

/** Timeout of a snapshot, in milliseconds. */
const SNAPSHOT_TIMEOUT_MS = 30 * 60_000;

/**
 * Writes a consistent, compacted copy of a database, while reads and writes continue. The copy can replace the original
 * file. On failure, rejects with `storage_failed` and leaves no file.
 */
export function snapshotDatabase({ target, ...options }: SnapshotOptions): Promise<{ readonly bytes: number }> {
  return writeWhole(target, async (draft) => {
    options.signal.throwIfAborted();
    keepPrivate(draft);
    await runInThread("VACUUM INTO ?", [draft], { ...options, timeoutMs: SNAPSHOT_TIMEOUT_MS });
  });
}
