import type { AsideOptions } from "./aside.ts";
import { runAside } from "./aside.ts";
import { keepPrivate } from "./private-file.ts";
import { writeWhole } from "./whole-file.ts";

export interface SnapshotOptions extends Omit<AsideOptions, "timeoutMs"> {
  /** Absolute; must not exist. */
  readonly target: string;
}

/** How long writing a snapshot may take, in milliseconds. */
const SNAPSHOT_TIMEOUT_MS = 30 * 60_000;

/**
 * Copies a database as it is at one moment, compacted, while others go on reading and writing it. The copy is a database file that can be put in the
 * place of the original. Rejects with `storage_failed`; nothing is left behind then.
 */
export function snapshotDatabase({ target, ...options }: SnapshotOptions): Promise<{ readonly bytes: number }> {
  return writeWhole(target, async (draft) => {
    options.signal.throwIfAborted();
    keepPrivate(draft);
    await runAside("VACUUM INTO ?", [draft], { ...options, timeoutMs: SNAPSHOT_TIMEOUT_MS });
  });
}
