import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { Database } from "./driver.ts";
import { refuseDamage } from "./integrity-check.ts";
import { keepPrivate, PRIVATE } from "./private-file.ts";

// After a failed fsync, Linux marks the unwritten pages as clean. Reads then return these pages and later syncs
// succeed, but a power cut loses the pages. So the file cannot be trusted any more. The whole database is copied to a
// new file. The fsync of the new file writes all its pages. The new file then replaces the old one. Source:
// https://wiki.postgresql.org/wiki/Fsync_Errors
//
// FILE.unsynced: marks that a sync failed. It stays until the new file is in place, also across restarts of the engine.
//
// FILE.renewed: the new file, complete and synced. The next opening replaces the old file with it.

const UNSYNCED = ".unsynced";
const RENEWED = ".renewed";
const DRAFT = ".renewed.part";

export function isUnsynced(file: string): boolean {
  return existsSync(`${file}${UNSYNCED}`);
}

/**
 * Creates the mark of a failed sync, so that the next start knows about it if the engine is killed before it renews the
 * file. A power cut may lose the mark, but the unwritten pages are then lost too, so that no reads return them any
 * more.
 */
export function noteUnsynced(file: string): void {
  try {
    closeSync(openSync(`${file}${UNSYNCED}`, "a", PRIVATE));
  } catch {
    // Ignored, because the disk may be full or read-only. This process knows about the failed sync without the mark.
  }
}

/**
 * Writes the database to `FILE.renewed` and syncs it. The old file stays unchanged. Throws SqlError, DatabaseRefused
 * and system errors.
 */
export function renew(file: string, database: Database): void {
  const draft = `${file}${DRAFT}`;
  // Test a sync first, so that no large database is copied while syncs still fail.
  probeSync(draft);
  refuseDamage(file, database);
  try {
    keepPrivate(draft);
    database.prepare("VACUUM INTO ?").run(draft);
    syncFile(draft, "r+");
    renameSync(draft, `${file}${RENEWED}`);
  } finally {
    // Free the space of a partial copy.
    rmSync(draft, { force: true });
  }
  syncFile(dirname(file), "r");
}

/**
 * Replaces the old file with the new one, if there is a new one. No connection to the old file may be open, because the
 * last connection to close deletes the log by its name. A connection that waits for the garbage collector counts as
 * open. Throws system errors; the next call continues after the last completed step.
 */
export function finishRenewal(file: string): void {
  rmSync(`${file}${DRAFT}`, { force: true });
  if (!existsSync(`${file}${RENEWED}`)) return;
  // Delete the log first. It belongs to the old file, but SQLite would apply it to the new one.
  rmSync(`${file}-wal`, { force: true });
  rmSync(`${file}-shm`, { force: true });
  syncFile(dirname(file), "r");
  renameSync(`${file}${RENEWED}`, file);
  rmSync(`${file}${UNSYNCED}`, { force: true });
  syncFile(dirname(file), "r");
}

function probeSync(draft: string): void {
  rmSync(draft, { force: true });
  const handle = openSync(draft, "wx", PRIVATE);
  try {
    writeSync(handle, "probe");
    fsyncSync(handle);
  } finally {
    closeSync(handle);
    rmSync(draft, { force: true });
  }
}

function syncFile(path: string, flags: "r" | "r+"): void {
  const handle = openSync(path, flags);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
