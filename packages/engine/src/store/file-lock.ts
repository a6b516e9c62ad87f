import { accessSync, constants, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { closeQuietly } from "./database-file.ts";
import { type Database, openDatabase, resultCodes, SqlError } from "./driver.ts";

const RETRY_MS = 25;

/** A lock that this process holds. */
export interface FileLock {
  /** Releases the lock. Calling it again does nothing. */
  release(): void;
}

export interface FileLockOptions {
  /** Cancels the wait; `lockFile` then rejects with its reason. */
  readonly signal: AbortSignal;
  /** Called once if another process, or another part of this process, holds the lock. */
  readonly onWait?: () => void;
}

/**
 * Locks a file for this process. Creates the file and its folder if they are missing. The operating system releases the
 * lock when the process ends, so a killed process leaves no lock behind. The file stays. Only SQLite may open it in
 * this process: closing another handle on it would release the lock (POSIX). Waits up to `busyMs` (default 0) and
 * blocks this thread meanwhile. Returns undefined if another process holds the lock. Throws if the file cannot be
 * created, opened or written.
 */
export function tryFileLock(file: string, { busyMs = 0 }: { readonly busyMs?: number } = {}): FileLock | undefined {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  let database: Database | undefined = openDatabase(file);
  try {
    database.exec(`PRAGMA busy_timeout=${busyMs}; PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE`);
    // If this user may not write to the file, SQLite opens it read-only, and several processes could hold the lock.
    accessSync(file, constants.W_OK);
  } catch (thrown) {
    closeQuietly(database);
    if (thrown instanceof SqlError && thrown.resultCode === resultCodes.busy) return undefined;
    throw thrown;
  }
  return {
    release() {
      database?.exec("ROLLBACK");
      database?.close();
      database = undefined;
    },
  };
}

/** Like `tryFileLock`, but waits for the lock without blocking this thread. */
export async function lockFile(file: string, { signal, onWait }: FileLockOptions): Promise<FileLock> {
  let hasWaited = false;
  for (;;) {
    signal.throwIfAborted();
    const lock = tryFileLock(file);
    if (lock !== undefined) return lock;
    if (!hasWaited) onWait?.();
    hasWaited = true;
    await pause(RETRY_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
