import { rm } from "node:fs/promises";
import { type Log, LogChanged, type LogState, LogUnavailable } from "../log.ts";
import type { KeptSnapshot, Seeds } from "./seeds.ts";
import type { Snapshot } from "./snapshot.ts";

/** The part of a replicated store that snapshots need. */
export interface SnapshotSource {
  readonly run: string;
  readonly node: string;
  members(): readonly string[];
  /** Resolves when all entries that were in the log at the time of the call are applied. */
  catchUp(): Promise<void>;
  /**
   * Resolves when a majority of the members is known to have the same data as this replica. Rejects if that is not
   * known in time.
   */
  agree(): Promise<void>;
  /** Writes a copy of the replica to the file. Rejects as soon as the signal aborts. */
  snapshot(file: string, signal: AbortSignal): Promise<Snapshot>;
}

export interface SaveOptions {
  readonly log: Log;
  readonly seeds: Seeds;
  /** Path of a temporary file. */
  readonly draft: string;
  /** Growth of the log, in bytes, after which a snapshot is due. Default: a snapshot is always due. */
  readonly after?: number;
  readonly signal?: AbortSignal;
  /** Called before the replica is copied. */
  readonly onBegin?: () => void;
}

/** State of a log and its snapshots, as last read from the servers. */
export interface LogAndSnapshots {
  readonly state: LogState;
  /** The newest snapshot is the first. */
  readonly kept: readonly KeptSnapshot[];
  /** Reason why entries are kept in the log although a snapshot contains these entries. */
  readonly problem?: string;
}

/**
 * Stores a copy of the replica. Then removes the entries that the second newest snapshot contains from the log.
 * Resolves with undefined, without a new snapshot, if another member is making one, or if none is due.
 */
export async function saveSnapshot(
  store: SnapshotSource,
  { log, seeds, draft, after, signal = new AbortController().signal, onBegin }: SaveOptions,
): Promise<Snapshot | undefined> {
  // Read the state before `catchUp` appends an entry, because some servers know about an append only some time later.
  const state = await log.state();
  // Catch up first: a store that lags behind does not know all members, and its copy may be older than the newest
  // snapshot.
  await store.catchUp();
  const claim = await seeds.claim(store.run, (run) => store.members().includes(run));
  if (claim === undefined) return undefined;
  let snapshot: Snapshot;
  try {
    const found = { state, kept: await seeds.list(state.identity) };
    if (after !== undefined && !isSnapshotDue(found, after)) return undefined;
    signal.throwIfAborted();
    onBegin?.();
    await rm(draft, { force: true });
    snapshot = await store.snapshot(draft, signal);
    if (found.state.identity !== snapshot.identity)
      throw new LogChanged("the log is not the one of this replica any more");
    await store.agree();
    const logBytes = writtenBytes(found, snapshot.position);
    await claim.put({ ...snapshot, node: store.node, logBytes }, draft, signal);
  } finally {
    await rm(draft, { force: true });
    // If the release fails, the claim still ends with this run.
    await claim.release().catch(() => undefined);
  }
  // If no server knows the end of the log now, the next check of SnapshotTaker cuts the log.
  await cutLog(log, seeds).catch((error: unknown) => {
    if (!(error instanceof LogUnavailable)) throw error;
  });
  return snapshot;
}

/**
 * Removes the entries that the second newest snapshot contains. Later entries are kept, because they are needed if the
 * newest snapshot cannot be read. No entries are removed if the snapshots are less safe than the log. Resolves with the
 * state of the log and its snapshots after that.
 */
export async function cutLog(log: Log, seeds: Seeds): Promise<LogAndSnapshots> {
  const found = await look(log, seeds);
  const second = found.kept[1];
  if (second === undefined || second.position < found.state.first) return found;
  const problem = await seeds.cutProblem(found.state.identity);
  if (problem !== undefined) return { ...found, problem };
  await log.truncate(second.position + 1);
  return { ...found, state: await log.state() };
}

/**
 * True in two cases: the log has grown since the newest snapshot by at least `after` bytes and by at least half of that
 * snapshot's size; or entries before the beginning of the log are in no snapshot.
 */
export function isSnapshotDue({ state, kept }: LogAndSnapshots, after: number): boolean {
  const [newest] = kept;
  if (state.first > 1 && (newest === undefined || newest.position < state.first - 1)) return true;
  const grown = writtenBytes({ state, kept }, state.last) - (newest?.logBytes ?? 0);
  return grown >= Math.max(after, (newest?.bytes ?? 0) / 2);
}

async function look(log: Log, seeds: Seeds): Promise<LogAndSnapshots> {
  const state = await log.state();
  return { state, kept: await seeds.list(state.identity) };
}

/**
 * Estimates the size of all entries up to a position, in bytes. Entries that were removed from the log are included. It
 * is an estimate, because only the total size of the entries in the log is known.
 */
function writtenBytes({ state: { first, last, bytes }, kept }: LogAndSnapshots, position: number): number {
  const before = kept.findLast((one) => one.position >= first - 1);
  const known = first === 1 || before === undefined ? { position: first - 1, logBytes: 0 } : before;
  const count = Math.min(position, last) - known.position;
  return known.logBytes + Math.round((bytes * count) / Math.max(1, last - first + 1));
}
