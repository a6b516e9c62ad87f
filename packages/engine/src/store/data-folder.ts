import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { removeDrafts, replaceFileSync } from "../files/replace-file.ts";
import { DatabaseRefused } from "./damage.ts";
import { type FileLock, tryFileLock } from "./file-lock.ts";
import { folderProblem } from "./folder-problem.ts";

/** Addresses of a running engine as URLs, with the ports that are bound, e.g. `ws://localhost:49134`. */
export interface AnnouncedAddresses {
  readonly bridge: string;
  readonly http: string;
  readonly realtime: string;
}

export interface AnnouncedAccess {
  /** Where the engine's token lies; absent when it is a configured one. */
  readonly tokenFile?: string | undefined;
  /** Random key by which the engine of this run proves that the folder is its own. Absent where there is no proof. */
  readonly proofKey?: string | undefined;
}

/** The engine that holds a data folder. */
export interface DataFolderLock {
  /**
   * Writes where the engine listens into `engine.json`, from where the CLI takes it. The file is replaced in one step. Does nothing after
   * the release. Throws when the file cannot be written.
   */
  announce(addresses: AnnouncedAddresses, access?: AnnouncedAccess): void;
  /** Gives the folder back. Calling it again does nothing. */
  release(): void;
}

/**
 * Locks the data folder for this process, and makes it if it is missing. `engine.json` in it names the holder:
 * `{pid, started_at}`, and `{bridge, http, realtime, token_file?, proof_key?}` after `announce`. That file outlives a holder that was killed; the lock does not.
 *
 * Throws an Error that names the folder and the engine (pid, start) that holds it, or says why the folder cannot be used.
 */
export function lockDataFolder(dataDir: string): DataFolderLock {
  const lockFile = join(dataDir, "engine.lock");
  const holderFile = join(dataDir, "engine.json");
  const holder = { pid: process.pid, started_at: new Date().toISOString() };
  let lock: FileLock | undefined;
  try {
    // The wait covers the moment in which two engines look at a fresh file together.
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

/** In one step, so that nobody reads half of it. For this user only, as the data beside it. */
function writeHolder(holderFile: string, facts: Holder & Partial<AnnouncedAddresses> & { readonly token_file?: string; readonly proof_key?: string }): void {
  replaceFileSync(holderFile, JSON.stringify(facts));
}

function holding(lock: FileLock, { holder, holderFile }: { readonly holder: Holder; readonly holderFile: string }): DataFolderLock {
  let held = true;
  return {
    announce({ bridge, http, realtime }, { tokenFile, proofKey } = {}) {
      if (!held) return;
      const access = { ...(tokenFile === undefined ? {} : { token_file: tokenFile }), ...(proofKey === undefined ? {} : { proof_key: proofKey }) };
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
  return new DatabaseRefused(`the data folder ${dataDir} is in use by ${holderOf(holderFile)}; stop that one first, or give this one a data_dir of its own`);
}

function unusable(dataDir: string, thrown: unknown): DatabaseRefused {
  const problem = folderProblem(dataDir) ?? (thrown instanceof Error ? thrown.message : String(thrown));
  return new DatabaseRefused(`the data folder ${dataDir} cannot be used: ${problem}; it must be a folder that the engine may write to`, thrown);
}

const holderSchema = z.object({ pid: z.number().int(), started_at: z.string() });

/** The file may be missing for a moment while the other engine starts. */
function holderOf(holderFile: string): string {
  try {
    const holder = holderSchema.parse(JSON.parse(readFileSync(holderFile, "utf8")));
    return `another engine (pid ${holder.pid}, started ${holder.started_at})`;
  } catch {
    return "another engine that is just starting or stopping";
  }
}
