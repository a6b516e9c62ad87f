import { rename, rm } from "node:fs/promises";
import type { Logger } from "../../kernel/logger.ts";
import { closeQuietly } from "../database-file.ts";
import { type Database, openDatabase, SqlError } from "../driver.ts";
import { isUnsynced } from "../failed-sync.ts";
import { type Log, LogChanged, type LogState, LogTruncated } from "../log.ts";
import { isUsable, removeReplica } from "./open-replica.ts";
import type { KeptSnapshot, Seeds } from "./seeds.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * Maximum number of attempts to choose a snapshot. Another one is chosen if the chosen ones are removed during the
 * copy.
 */
const MAX_ATTEMPTS = 5;

export interface SeedOptions {
  readonly log: Log;
  readonly seeds: Seeds | undefined;
  /** File of the replica. */
  readonly file: string;
  /** True if entries that this file lacks were removed from the log. The file is then replaced. */
  readonly isLate?: boolean;
  /**
   * Node of the replica. If the replica's file cannot be trusted, snapshots of this node and of quarantined nodes are
   * used only if there are no other snapshots.
   */
  readonly node: string;
  readonly logger: Logger;
  /** Called during the copying of a snapshot, with the number of bytes copied so far. */
  readonly onCopying?: ((snapshot: KeptSnapshot, copied: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Writes the newest snapshot to the replica's file, unless there is a usable file. Resolves with false if there is no
 * snapshot and the log has all entries: the replica then begins empty. Rejects with LogTruncated if there is no
 * snapshot and the log lacks entries.
 */
export async function seedReplica(options: SeedOptions): Promise<boolean> {
  const { log, seeds, file, isLate = false, logger, signal } = options;
  if (!isLate && isUsable(file)) return true;
  const { identity, first } = await log.state();
  const draft = `${file}.seed`;
  try {
    if (seeds !== undefined && (await copyBest(seeds, { ...options, draft, identity, first }))) {
      removeReplica(file);
      await rename(draft, file);
      return true;
    }
  } catch (error) {
    if (first > 1 || signal?.aborted === true) throw error;
    logger.warn("no snapshot can be read; the replica is made from the whole log", { error });
  }
  if (first > 1)
    throw new LogTruncated(`the log begins at entry ${first}, and there is no snapshot that reaches this far`);
  removeReplica(file);
  return false;
}

/** Copies the best snapshot that can be read. Resolves with false if there is no suitable snapshot. */
async function copyBest(
  seeds: Seeds,
  { identity, first, ...options }: SeedOptions & Pick<LogState, "identity" | "first"> & { readonly draft: string },
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const choices = choicesOf(await seeds.list(identity), first, options);
    if (choices.length === 0) return false;
    try {
      await copyFirst(seeds, choices, options);
      return true;
    } catch (error) {
      options.signal?.throwIfAborted();
      // Newer snapshots may have replaced the chosen ones meanwhile.
      const kept = await seeds.list(identity);
      const isReplaced = choices.some(({ id }) => !kept.some((one) => one.id === id));
      if (!isReplaced || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Returns the snapshots that a replica may start from, the best one first. */
function choicesOf(
  kept: readonly KeptSnapshot[],
  first: number,
  { file, node }: Pick<SeedOptions, "file" | "node">,
): readonly KeptSnapshot[] {
  // A snapshot of a file that cannot be trusted may be wrong too. If the log has all entries, such snapshots are not
  // used.
  const suspects = isUnsynced(file) ? [node, ...quarantinedNodes(file)] : [];
  const isDoubtful = (one: KeptSnapshot): boolean => suspects.includes(one.node);
  return kept
    .filter((one) => one.position >= first - 1 && !(first === 1 && isDoubtful(one)))
    .toSorted((a, b) => Number(isDoubtful(a)) - Number(isDoubtful(b)));
}

/**
 * Returns the nodes whose replicas differed from those of the majority. They are read from the old replica, if
 * possible.
 */
function quarantinedNodes(file: string): readonly string[] {
  let database: Database | undefined;
  try {
    database = openDatabase(file);
    return database
      .prepare("SELECT node FROM replica_runs WHERE state = 'quarantined'")
      .all()
      .map((row) => String(row.node));
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    return [];
  } finally {
    closeQuietly(database);
  }
}

/** Copies the first snapshot that can be read. If none can be read, rejects with the error of the last one. */
async function copyFirst(
  seeds: Seeds,
  [first, ...others]: readonly KeptSnapshot[],
  {
    draft,
    logger,
    onCopying,
    signal,
  }: Pick<SeedOptions, "logger" | "onCopying" | "signal"> & { readonly draft: string },
): Promise<void> {
  if (first === undefined) return;
  const { position, bytes } = first;
  await rm(draft, { force: true });
  onCopying?.(first, 0);
  logger.info("a replica is made from a snapshot", { position, bytes });
  try {
    await seeds.copy(first, draft, { onCopied: (copied) => onCopying?.(first, copied), signal });
  } catch (error) {
    if (others.length === 0 || signal?.aborted === true) throw error;
    logger.warn("a snapshot could not be read; the one before is taken", { position, error });
    await copyFirst(seeds, others, { draft, logger, onCopying, signal });
  }
}

/** Rejects with LogChanged if the replica was made from another log, or has entries that the log lost. */
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
