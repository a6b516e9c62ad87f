import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { closeQuietly, DatabaseRefused } from "./database-file.ts";
import { type Database, openDatabase, resultCodes, SqlError } from "./driver.ts";

/** The engine that holds a data folder. */
export interface DataFolderLock {
  /** Gives the folder back. Calling it again does nothing. */
  release(): void;
}

/**
 * Takes the data folder for this process, making it when missing. The lock is the operating system's on a file inside the folder, so it goes
 * with the process whatever ends it, and a lock left behind cannot happen. `engine.json` beside it names the holder for people.
 *
 * Throws an Error that names the folder and the engine (pid, start) that holds it, or says why the folder cannot be used.
 */
export function lockDataFolder(dataDir: string): DataFolderLock {
  const lockFile = join(dataDir, "engine.lock");
  const holderFile = join(dataDir, "engine.json");
  let database: Database | undefined;
  try {
    mkdirSync(dataDir, { recursive: true });
    database = openDatabase(lockFile);
    // The wait covers the moment in which two engines look at a fresh file together. It is never read by other means than SQLite:
    // closing any other handle on it in this process would drop the lock (POSIX).
    database.exec("PRAGMA busy_timeout=200; PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE");
    writeFileSync(holderFile, JSON.stringify({ pid: process.pid, started_at: new Date().toISOString() }));
  } catch (thrown) {
    closeQuietly(database);
    throw refusal(dataDir, holderFile, thrown);
  }
  return holding(database, holderFile);
}

function holding(database: Database, holderFile: string): DataFolderLock {
  let held = true;
  return {
    release() {
      if (!held) return;
      held = false;
      rmSync(holderFile, { force: true });
      database.exec("ROLLBACK");
      database.close();
    },
  };
}

function refusal(dataDir: string, holderFile: string, thrown: unknown): Error {
  if (thrown instanceof SqlError && thrown.resultCode === resultCodes.busy) {
    return new DatabaseRefused(
      `the data folder ${dataDir} is in use by ${holderOf(holderFile)}; stop that one first, or give this one a data_dir of its own`,
      thrown,
    );
  }
  return new DatabaseRefused(
    `the data folder ${dataDir} cannot be used: ${thrown instanceof Error ? thrown.message : String(thrown)}; it must be a folder that the engine may write to`,
    thrown,
  );
}

const holderSchema = z.object({ pid: z.number().int(), started_at: z.string() });

/** The file may be missing or half-written for a moment while the other engine starts. */
function holderOf(holderFile: string): string {
  try {
    const holder = holderSchema.parse(JSON.parse(readFileSync(holderFile, "utf8")));
    return `another engine (pid ${holder.pid}, started ${holder.started_at})`;
  } catch {
    return "another engine that is just starting or stopping";
  }
}
