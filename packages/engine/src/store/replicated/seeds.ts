import type { Snapshot } from "./snapshot.ts";

/** A snapshot that is about to be stored. */
export interface NewSnapshot extends Snapshot {
  /** Data folder or machine of the run that made it. */
  readonly node: string;
  /** Size of all entries up to the position, those included that the log no longer has, in bytes. */
  readonly logBytes: number;
  /** SHA-256 of the data that a log began with, as they were; undefined for a copy of a replica. */
  readonly source?: string | undefined;
}

export interface KeptSnapshot extends NewSnapshot {
  readonly id: string;
  /** Size of the copy, in bytes. */
  readonly bytes: number;
}

/**
 * Where snapshots of replicas are kept, for nodes that are new or too late for the log. `testing/seeds-suite.ts` checks
 * the guarantees of an implementation.
 */
export interface Seeds {
  /** Returns the complete snapshots of a log, the newest first. */
  list(identity: string): Promise<readonly KeptSnapshot[]>;
  /** Writes a snapshot to a new file. Rejects if the copy is not what was stored, and then leaves no file. */
  copy(snapshot: KeptSnapshot, file: string, options?: CopyOptions): Promise<void>;
  /** Resolves with the reason why entries that a log's snapshots contain must not be removed, or with undefined. */
  cutProblem(identity: string): Promise<string | undefined>;
  /**
   * Takes the right to make a snapshot, which one run has at a time. Resolves with undefined if another run has it for
   * which `isAlive` is true. A run that is not alive loses it.
   */
  claim(run: string, isAlive: (run: string) => boolean): Promise<SeedClaim | undefined>;
}

export interface CopyOptions {
  /** Called with the number of bytes that were copied. */
  readonly onCopied?: (bytes: number) => void;
  /** Rejects soon after it aborts. */
  readonly signal?: AbortSignal | undefined;
}

export interface SeedClaim {
  /**
   * Stores the file as a snapshot. The newest two of its log are kept, and none of another log. Rejects if one that is as
   * new is kept already.
   */
  put(snapshot: NewSnapshot, file: string, signal?: AbortSignal): Promise<void>;
  /** Gives the right back, and removes what was stored of a snapshot that is not complete. */
  release(): Promise<void>;
}

/** Throws an Error if a snapshot is not newer than those that are kept of its log, the newest first. */
export function refuseOlder({ position }: NewSnapshot, [newest]: readonly NewSnapshot[]): void {
  if (newest !== undefined && newest.position >= position)
    throw new Error(`the snapshot of entry ${newest.position} is stored already, so that of ${position} is of no use`);
}
