import type { BatchTime } from "../log-time.ts";
import type { Answer, Request } from "../thread-messages.ts";
import type { ReplicaState, RunState } from "./replica-tables.ts";
import type { Snapshot } from "./snapshot.ts";

/** A read of this node. It runs between the requests of an own entry, at the place where the caller made it. */
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
   * `repeated`: the entry was applied before, so nothing was done. `refused`: the run of the entry is not a member, so
   * nothing was done. `part`: the requests are applied with the last part.
   */
  readonly outcome: "applied" | "repeated" | "refused" | "part";
  /** Requests of the entry, including the local reads. */
  readonly requests: readonly Request[];
  /** Answers to the requests. If the first requests were applied before a crash, their answers are missing. */
  readonly answers: readonly Answer[];
  readonly membership: Membership | undefined;
  /** True if the entry found that replicas differ. */
  readonly differs: boolean;
  readonly digest: string;
  /** Log time after the entry, and the wall clock of the run that wrote it. */
  readonly time: BatchTime;
}

export interface ApplyResult {
  readonly applied: readonly AppliedEntry[];
  /** Reason why the next entry cannot be applied. If it is `fatal`, further attempts would fail too. */
  readonly failure:
    | {
        readonly reason: string;
        readonly fatal: boolean;
        /** True if the file cannot be trusted. */
        readonly isDamage: boolean;
      }
    | undefined;
}

/** Facts about an opened replica that the store needs. */
export interface OpenedReplica {
  readonly state: ReplicaState;
  readonly membership: Membership;
  /** Names of the procedures that write. */
  readonly writes: readonly string[];
}

/** A replica, which runs in a thread of its own or in this thread. Calls run in order. */
export interface ReplicaHost {
  readonly opened: OpenedReplica;
  apply(entries: readonly EntryToApply[]): Promise<ApplyResult>;
  read(requests: readonly Request[], time: BatchTime): Promise<readonly Answer[]>;
  /** Returns the answers to the last entry of a run. `answers` is undefined if they are not kept. */
  answersOf(run: string): Promise<{ readonly n: number; readonly answers: readonly Answer[] | undefined } | undefined>;
  /**
   * Writes a copy of the database to a new file. A replica in a file continues to apply entries meanwhile. Rejects as
   * soon as the signal aborts, and leaves no file then.
   */
  snapshot(target: string, signal: AbortSignal): Promise<Snapshot>;
  close(): Promise<void>;
}
