import { rm } from "node:fs/promises";
import { type Log, LogChanged, type LogState, LogUnavailable } from "../log.ts";
import type { KeptSnapshot, Seeds } from "./seeds.ts";
import type { Snapshot } from "./snapshot.ts";

/** A replicated store, as far as snapshots are concerned. */
export interface SnapshotSource {
  readonly run: string;
  readonly node: string;
  members(): readonly string[];
  /** Resolves when every entry that the log had at the call is applied. */
  catchUp(): Promise<void>;
  /** Resolves when a majority of the members has what this replica had at the call. Rejects if none has soon. */
  agree(): Promise<void>;
  /** Rejects as soon as the signal aborts. */
  snapshot(file: string, signal: AbortSignal): Promise<Snapshot>;
}

export interface SaveOptions {
  readonly log: Log;
  readonly seeds: Seeds;
  /** Path of a temporary file. */
  readonly draft: string;
  /** Growth of the log after which a snapshot is due. Default: it is taken in any case. */
  readonly after?: number;
  readonly signal?: AbortSignal;
  /** Called before the replica is copied. */
  readonly onBegin?: () => void;
}

/** A log with its snapshots, as they were seen last. */
export interface LogAndSnapshots {
  readonly state: LogState;
  /** The newest first. */
  readonly kept: readonly KeptSnapshot[];
  /** Why entries that could be removed from the log are kept. */
  readonly problem?: string;
}

/**
 * Stores a copy of the replica, and then removes the entries that the second newest snapshot contains. Resolves with
 * undefined if another member of the log is making one, or has just made one.
 */
export async function saveSnapshot(
  store: SnapshotSource,
  { log, seeds, draft, after, signal = new AbortController().signal, onBegin }: SaveOptions,
): Promise<Snapshot | undefined> {
  // Asked before the append: some servers know what was appended only some time later.
  const state = await log.state();
  // A store that lags behind does not know all members, and its copy may be older than the newest snapshot.
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
    // The claim ends with this run at the latest.
    await claim.release().catch(() => undefined);
  }
  // The next look cuts the log if no server knows its end now.
  await cutLog(log, seeds).catch((error: unknown) => {
    if (!(error instanceof LogUnavailable)) throw error;
  });
  return snapshot;
}

/**
 * Removes the entries that the second newest snapshot contains. Those after it are kept in case that the newest one cannot
 * be read. None are removed if the snapshots are not as safe as the log. Resolves with what the log and its snapshots are
 * then.
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
 * True if the log has grown by `after` bytes, and by half of the replica, since the last snapshot, or if no snapshot
 * reaches to where the log begins.
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
 * Size of all entries up to a position, those included that the log no longer has, in bytes. The sizes of the entries that
 * it has are known in sum only.
 */
function writtenBytes({ state: { first, last, bytes }, kept }: LogAndSnapshots, position: number): number {
  const before = kept.findLast((one) => one.position >= first - 1);
  const known = first === 1 || before === undefined ? { position: first - 1, logBytes: 0 } : before;
  const count = Math.min(position, last) - known.position;
  return known.logBytes + Math.round((bytes * count) / Math.max(1, last - first + 1));
}
