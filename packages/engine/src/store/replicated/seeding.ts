import { rename, rm } from "node:fs/promises";
import { type Log, LogChanged, LogTruncated } from "../log.ts";
import { isUsable, removeReplica } from "./open-replica.ts";
import type { Snapshot } from "./snapshot.ts";

/** Where snapshots of replicas are kept, for nodes that are new or too late for the log. */
export interface Seeds {
  /** Stores the file as a snapshot. The newest two of a log are kept. */
  put(snapshot: Snapshot, file: string): Promise<void>;
  /** Returns the snapshots of a log, the newest first. */
  list(identity: string): Promise<readonly Snapshot[]>;
  /** Writes a snapshot to a new file. */
  copy(snapshot: Snapshot, file: string): Promise<void>;
}

/**
 * Writes a snapshot with its position to `seeds`, and then removes the entries that the second newest snapshot contains.
 * `draft` is the path of a temporary file.
 */
export async function saveSnapshot(
  store: { snapshot(file: string): Promise<Snapshot> },
  { log, seeds, draft }: { readonly log: Log; readonly seeds: Seeds; readonly draft: string },
): Promise<Snapshot> {
  try {
    const snapshot = await store.snapshot(draft);
    await seeds.put(snapshot, draft);
    const [, second] = await seeds.list(snapshot.identity);
    if (second !== undefined) await log.truncate(second.position + 1);
    return snapshot;
  } finally {
    await rm(draft, { force: true });
  }
}

export interface SeedOptions {
  readonly log: Log;
  readonly seeds: Seeds | undefined;
  /** File of the replica. */
  readonly file: string;
  /** True if the file lacks entries that the log no longer has. It is then replaced. */
  readonly isLate?: boolean;
}

/**
 * Writes the newest snapshot to the replica's file if the log no longer has all entries, and there is no usable file.
 * Resolves with false if the replica begins empty. Rejects with LogTruncated if there is no snapshot to begin with.
 */
export async function seedReplica({ log, seeds, file, isLate = false }: SeedOptions): Promise<boolean> {
  if (!isLate && isUsable(file)) return true;
  const { identity, first } = await log.state();
  if (first === 1) {
    removeReplica(file);
    return false;
  }
  const newest = (await seeds?.list(identity))?.[0];
  if (seeds === undefined || newest === undefined || newest.position < first - 1)
    throw new LogTruncated(`the log begins at entry ${first}, and there is no snapshot that reaches this far`);
  const draft = `${file}.seed`;
  await rm(draft, { force: true });
  await seeds.copy(newest, draft);
  removeReplica(file);
  await rename(draft, file);
  return true;
}

/** Rejects with LogChanged if the log is not the one that made a replica, or lost entries that the replica has. */
export async function checkLog(
  log: Log,
  { identity, position, lastId }: Snapshot & { readonly lastId: string },
): Promise<void> {
  const state = await log.state();
  if (state.identity !== identity)
    throw new LogChanged(`the replica is one of log ${identity}, but the log is ${state.identity}`);
  if (position > state.last)
    throw new LogChanged(`the log went back: it ends at entry ${state.last}, the replica at ${position}`);
  const entry = await log.read(position);
  if (entry !== undefined && entry.id !== lastId)
    throw new LogChanged(`the log went back: its entry ${position} is not the one that the replica has`);
}
