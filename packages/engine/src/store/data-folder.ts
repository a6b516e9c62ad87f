import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { removeDrafts, replaceFileSync } from "../files/replace-file.ts";
import { type FileLock, tryFileLock } from "./file-lock.ts";
import { folderProblem } from "./folder-problem.ts";
import { DatabaseRefused } from "./integrity-check.ts";

/** Addresses of a running engine as URLs, with the ports that are bound, e.g. `ws://localhost:49134`. */
export interface AnnouncedAddresses {
  readonly bridge: string;
  readonly http: string;
  readonly realtime: string;
}

export interface AnnouncedAccess {
  /** Path of the engine's token file; absent if the token is configured. */
  readonly tokenFile?: string | undefined;
  /** Random key of this run. With it, the engine proves that it owns the folder. Absent if there is no proof. */
  readonly proofKey?: string | undefined;
}

/** Lock of a data folder. */
export interface DataFolderLock {
  /**
   * Writes the engine's addresses to `engine.json`, for the CLI. Replaces the file atomically. Does nothing after the
   * release. Throws if the file cannot be written.
   */
  announce(addresses: AnnouncedAddresses, access?: AnnouncedAccess): void;
  /** Releases the lock. Calling it again does nothing. */
  release(): void;
}

/**
 * Locks the data folder for this process. Creates it if it is missing. `engine.json` in it describes the process that
 * holds the lock: `{pid, started_at}`, and in addition `{bridge, http, realtime, token_file?, proof_key?}` after
 * `announce`. If that process is killed, the file stays, but the lock is released.
 *
 * Throws DatabaseRefused with the pid and the start time of the process that holds the lock, or with the reason why the
 * folder cannot be used.
 */
export function lockDataFolder(dataDir: string): DataFolderLock {
  const lockFile = join(dataDir, "engine.lock");
  const holderFile = join(dataDir, "engine.json");
  const holder = { pid: process.pid, started_at: new Date().toISOString() };
  let lock: FileLock | undefined;
  try {
    // Wait a little, because two engines may open a new lock file at the same moment.
    lock = tryFileLock(lockFile, { busyMs: 200 });
    if (lock === undefined) throw inUse(dataDir, holderFile);
    removeDrafts(dataDir);
    writeHolder(holderFile, holder);
  } catch (thrown) {
    lock?.release();
    throw thrown instanceof DatabaseRefused ? thrown : unusable(dataDir, thrown);
  }
  return holding(lock, { holder, holderFile });
}

type Holder = z.output<typeof holderSchema>;

/** Replaces the file atomically, so that readers never see a partial file. Only this user can read it. */
function writeHolder(
  holderFile: string,
  facts: Holder & Partial<AnnouncedAddresses> & { readonly token_file?: string; readonly proof_key?: string },
): void {
  replaceFileSync(holderFile, JSON.stringify(facts));
}

function holding(
  lock: FileLock,
  { holder, holderFile }: { readonly holder: Holder; readonly holderFile: string },
): DataFolderLock {
  let held = true;
  return {
    announce({ bridge, http, realtime }, { tokenFile, proofKey } = {}) {
      if (!held) return;
      const access = {
        ...(tokenFile === undefined ? {} : { token_file: tokenFile }),
        ...(proofKey === undefined ? {} : { proof_key: proofKey }),
      };
      writeHolder(holderFile, { ...holder, bridge, http, realtime, ...access });
    },
    release() {
      if (!held) return;
      held = false;
      rmSync(holderFile, { force: true });
      lock.release();
    },
  };
}

function inUse(dataDir: string, holderFile: string): DatabaseRefused {
  return new DatabaseRefused(
    `the data folder ${dataDir} is in use by ${holderOf(holderFile)}; stop that engine, or set another data_dir for this one`,
  );
}

function unusable(dataDir: string, thrown: unknown): DatabaseRefused {
  const problem = folderProblem(dataDir) ?? (thrown instanceof Error ? thrown.message : String(thrown));
  return new DatabaseRefused(
    `the data folder ${dataDir} cannot be used: ${problem}; it must be a folder that the engine can write to`,
    thrown,
  );
}

const holderSchema = z.object({ pid: z.number().int(), started_at: z.string() });

/** Describes the engine that holds the lock. `engine.json` may be missing for a moment while that engine starts. */
function holderOf(holderFile: string): string {
  try {
    const holder = holderSchema.parse(JSON.parse(readFileSync(holderFile, "utf8")));
    return `another engine (pid ${holder.pid}, started ${holder.started_at})`;
  } catch {
    return "another engine that is starting or stopping";
  }
}
