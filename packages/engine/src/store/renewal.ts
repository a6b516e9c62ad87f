import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { refuseDamage } from "./damage.ts";
import type { Database } from "./driver.ts";
import { keepPrivate, PRIVATE } from "./private-file.ts";

// After a failed fsync, Linux counts the pages that it could not write as written: reads return them, later syncs succeed, and a power cut loses them. So
// nothing that was in a file at that time is relied on. All of it is written to a new file, whose pages the next fsync must write, and the new file takes
// the place of the old one. Source: https://wiki.postgresql.org/wiki/Fsync_Errors
//
// FILE.unsynced   a sync failed; stays until the new file is in place, also through a restart of the engine
// FILE.renewed    the new file, whole and synced; the next opening puts it in place

const UNSYNCED = ".unsynced";
const RENEWED = ".renewed";
const DRAFT = ".renewed.part";

export function isUnsynced(file: string): boolean {
  return existsSync(`${file}${UNSYNCED}`);
}

/** Notes on the disk that a sync failed, for an engine that is killed before it has renewed the file. A power cut needs no note: it empties the page cache. */
export function noteUnsynced(file: string): void {
  try {
    closeSync(openSync(`${file}${UNSYNCED}`, "a", PRIVATE));
  } catch {
    // On a full or read-only disk the note cannot be made. This process knows without it.
  }
}

/** Writes all that the connection reads to `FILE.renewed`, and syncs it. Throws SqlError, DatabaseRefused and system errors; the old file stays as it is. */
export function renew(file: string, database: Database): void {
  const draft = `${file}${DRAFT}`;
  // A large database is not copied in vain while the disk fails.
  probeSync(draft);
  refuseDamage(file, database);
  try {
    keepPrivate(draft);
    database.prepare("VACUUM INTO ?").run(draft);
    syncFile(draft, "r+");
    renameSync(draft, `${file}${RENEWED}`);
  } finally {
    // A part of it takes room that others need.
    rmSync(draft, { force: true });
  }
  syncFile(dirname(file), "r");
}

/**
 * Puts the new file in the place of the old one, if there is one. No connection to the old one may be open, not even one that waits for the garbage
 * collector: the last one that closes removes the log by its name. Throws system errors; the next call continues after the last completed step.
 */
export function finishRenewal(file: string): void {
  rmSync(`${file}${DRAFT}`, { force: true });
  if (!existsSync(`${file}${RENEWED}`)) return;
  // The log first: it belongs to the old file, and SQLite would apply it to whatever file has that name.
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
