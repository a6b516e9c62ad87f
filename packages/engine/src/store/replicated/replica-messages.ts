import type { BatchTime } from "../log-time.ts";
import type { Answer, Request } from "../thread-messages.ts";
import type { ReplicaState, RunState } from "./replica-tables.ts";
import type { Snapshot } from "./snapshot.ts";

/** A read of this node that runs between the requests of an own entry, where the caller made it. */
export interface LocalRead {
  /** Index among the entry's requests and reads. */
  readonly index: number;
  readonly request: Request;
}

export interface EntryToApply {
  readonly position: number;
  readonly id: string;
  readonly bytes: Uint8Array;
  readonly reads: readonly LocalRead[];
}

/** Members after an entry that changed them. */
export interface Membership {
  readonly members: readonly string[];
  /** State of this replica's own run; undefined before it joined. */
  readonly own: RunState | undefined;
}

export interface AppliedEntry {
  readonly position: number;
  readonly id: string;
  /**
   * `repeated`: the entry was applied before, so nothing was done. `refused`: its run is no member. `part`: it is applied with
   * the last part.
   */
  readonly outcome: "applied" | "repeated" | "refused" | "part";
  /** Requests of the entry, with the local reads. */
  readonly requests: readonly Request[];
  /** Answers to them. Fewer if the first ones were applied before a crash. */
  readonly answers: readonly Answer[];
  readonly membership: Membership | undefined;
  /** True if replicas were found to differ. */
  readonly differs: boolean;
  readonly digest: string;
  /** Log time after the entry, and the wall clock of its run. */
  readonly time: BatchTime;
}

export interface ApplyResult {
  readonly applied: readonly AppliedEntry[];
  /** Reason why the next entry cannot be applied. If it is `fatal`, trying again is of no use. */
  readonly failure:
    | {
        readonly reason: string;
        readonly fatal: boolean /** True if the file cannot be trusted. */;
        readonly isDamage: boolean;
      }
    | undefined;
}

/** What the store needs to know of a replica that was opened. */
export interface OpenedReplica {
  readonly state: ReplicaState;
  readonly membership: Membership;
  /** Names of the procedures that write. */
  readonly writes: readonly string[];
}

/** A replica, in a thread or in this one. Calls run in order. */
export interface ReplicaHost {
  readonly opened: OpenedReplica;
  apply(entries: readonly EntryToApply[]): Promise<ApplyResult>;
  read(requests: readonly Request[], time: BatchTime): Promise<readonly Answer[]>;
  /** Answers to the last entry of a run; undefined if they are not kept. */
  answersOf(run: string): Promise<{ readonly n: number; readonly answers: readonly Answer[] | undefined } | undefined>;
  /**
   * Writes a copy of the database to a new file. Entries are applied meanwhile, unless the replica is in memory. Rejects
   * as soon as the signal aborts, and then leaves no file.
   */
  snapshot(target: string, signal: AbortSignal): Promise<Snapshot>;
  close(): Promise<void>;
}
