import { accessSync, constants, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { closeQuietly } from "./database-file.ts";
import { type Database, openDatabase, resultCodes, SqlError } from "./driver.ts";

const RETRY_MS = 25;

/** A lock that this process may hold. */
export interface FileLock {
  /** Gives the lock back. Calling it again does nothing. */
  release(): void;
}

export interface FileLockOptions {
  /** Ends the wait: the lock then rejects with its reason. */
  readonly signal: AbortSignal;
  /** Called once when another process, or another part of this one, holds the lock. */
  readonly onWait?: () => void;
}

/**
 * Locks the file for this process, and makes it and its folder if they are missing. The lock is the operating system's, which releases it when the process
 * ends, whatever ends it; so no lock is left behind. The file stays, and must be read by no other means than SQLite: closing any other handle on it in this
 * process would release the lock (POSIX). Waits up to `busyMs` (default 0), blocking this thread. Returns undefined while somebody else holds the lock. Throws
 * if the file cannot be made, opened or written to.
 */
export function tryFileLock(file: string, { busyMs = 0 }: { readonly busyMs?: number } = {}): FileLock | undefined {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  let database: Database | undefined = openDatabase(file);
  try {
    database.exec(`PRAGMA busy_timeout=${busyMs}; PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE`);
    // SQLite opens a file that this user may not write to as read-only, and then several processes hold the lock.
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

/** Locks the file as `tryFileLock` does, and waits for its holder without blocking this thread. */
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
