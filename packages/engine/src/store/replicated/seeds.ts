import type { Snapshot } from "./snapshot.ts";

/** A snapshot that is being stored. */
export interface NewSnapshot extends Snapshot {
  /** Id of the data folder or machine of the run that made the snapshot. */
  readonly node: string;
  /** Size of all entries up to the position, in bytes. Entries that were removed from the log are included. */
  readonly logBytes: number;
  /** SHA-256 of the database from which a log was started; undefined for a copy of a replica. */
  readonly source?: string | undefined;
}

export interface KeptSnapshot extends NewSnapshot {
  readonly id: string;
  /** Size of the copy, in bytes. */
  readonly bytes: number;
}

/**
 * Store of the snapshots of replicas. Nodes need them if they are new, or if the log no longer has the entries that
 * they lack. `testing/seeds-suite.ts` checks the guarantees of an implementation.
 */
export interface Seeds {
  /** Returns the complete snapshots of a log, the newest first. */
  list(identity: string): Promise<readonly KeptSnapshot[]>;
  /** Writes a snapshot to a new file. If the result differs from what was stored, rejects and leaves no file. */
  copy(snapshot: KeptSnapshot, file: string, options?: CopyOptions): Promise<void>;
  /**
   * Resolves with the reason why entries that the snapshots of this log contain must not be removed from the log, or
   * with undefined.
   */
  cutProblem(identity: string): Promise<string | undefined>;
  /**
   * Claims the right to make a snapshot. Only one run has it at a time. Resolves with undefined if another run has it
   * and `isAlive` returns true for that run. A run that is not alive loses the right.
   */
  claim(run: string, isAlive: (run: string) => boolean): Promise<SeedClaim | undefined>;
}

export interface CopyOptions {
  /** Called with the number of bytes copied so far. */
  readonly onCopied?: (bytes: number) => void;
  /** `copy` rejects soon after this signal aborts. */
  readonly signal?: AbortSignal | undefined;
}

export interface SeedClaim {
  /**
   * Stores the file as a snapshot. Keeps the two newest snapshots of this log, and removes those of other logs. Rejects
   * if a stored snapshot is as new as this one, or newer.
   */
  put(snapshot: NewSnapshot, file: string, signal?: AbortSignal): Promise<void>;
  /** Releases the right, and removes the stored parts of an incomplete snapshot. */
  release(): Promise<void>;
}

/** Throws an Error if a snapshot is not newer than the stored ones of its log, of which the newest is the first. */
export function refuseOlder({ position }: NewSnapshot, [newest]: readonly NewSnapshot[]): void {
  if (newest !== undefined && newest.position >= position)
    throw new Error(`the snapshot of entry ${newest.position} is stored already, so that of ${position} is of no use`);
}
