import type { HandledTicks } from "./handled-ticks.ts";

/** How a run ended, or why no run started. */
export type Outcome = "ok" | "error" | "skipped" | "enqueued";

/** An entry of a job's history. Times are milliseconds since 1970. */
export interface Run {
  /** Number of the entry within its job. */
  readonly seq: number;
  /** Time of the tick. If several ticks were skipped together, of the last one. */
  readonly scheduledAt: number;
  /** Null if no run was started. */
  readonly startedAt: number | null;
  /** Null while it runs. */
  readonly finishedAt: number | null;
  /** Null while it runs. */
  readonly outcome: Outcome | null;
  readonly error: string | null;
  /** True if `cron::trigger_now` started it. */
  readonly manual: boolean;
  /** Number of skipped ticks that the entry stands for, at most 100 per gap. 0 for a started run. */
  readonly skippedCount: number;
}

/** A history entry that has no number yet. */
export type NewRun = Omit<Run, "seq">;

/** The stored state of a job, as far as the engine uses it. */
export interface StoredJob {
  /** Every tick up to this time is decided. */
  readonly decidedUntil: number;
  readonly handled: HandledTicks;
  readonly paused: boolean;
  /** The latest entry of its history. */
  readonly lastRun: Run | undefined;
  /** Job runs that an earlier engine run started, and whose job may not have been added to the queue. */
  readonly toRedeliver: readonly Run[];
  /** Ids of the engine runs in a cluster that have triggers of the job. Empty without a cluster. */
  readonly holders: readonly string[];
  /** Numbers of the job's runs that other engines have not finished. */
  readonly running: readonly number[];
}

/** Whether a tick starts. `decided`: it was started or skipped before. `overlaps`: another engine runs the job. */
export type StartOutcome =
  | { readonly status: "started"; readonly run: Run }
  | { readonly status: "decided" }
  | { readonly status: "overlaps" };

/** A job that gets its first trigger at this engine. */
export interface Adoption {
  readonly kind: "adopt";
  readonly id: string;
  readonly functionId: string;
  /** The settings of the job. The engine does not read them; they help people to inspect the file. */
  readonly config: string;
  readonly now: number;
  /**
   * Unfinished runs since this time are returned, so that their jobs are added to the queue again. This is safe because
   * each job has a dedupe key. Undefined if the job has no queue.
   */
  readonly redeliverFrom: number | undefined;
  /** True if a trusted worker has a trigger. False keeps the stored value. */
  readonly isTrusted: boolean;
}

/** A change of whether the job belongs to a trusted worker. */
export interface OwnerChange {
  readonly kind: "own";
  readonly id: string;
  readonly isTrusted: boolean;
}

/**
 * The job's last trigger was unregistered, so the job misses no ticks from now on. A restricted connection cannot
 * retire a trusted worker's job.
 */
export interface Retirement {
  readonly kind: "retire";
  readonly id: string;
  /** True if a trusted worker unregistered it. */
  readonly isTrusted: boolean;
}

/** This engine has no trigger of the job any more. Other engines may still have triggers of it. */
export interface Release {
  readonly kind: "release";
  readonly id: string;
}

/** The clock was set back: ticks after `decidedUntil` are decided again, unless they are handled. */
export interface Rewind {
  readonly kind: "rewind";
  readonly id: string;
  readonly decidedUntil: number;
  readonly handled: HandledTicks;
}

/** A stored history entry. */
export interface Entry {
  readonly id: string;
  readonly run: Run;
}

/** A history entry to add, and the ticks that it decides. */
export interface NewEntry {
  readonly id: string;
  readonly run: NewRun;
  /** Time up to which ticks are decided by this entry. Undefined if the entry decides no tick. */
  readonly decidedUntil: number | undefined;
  /** Absent: unchanged. */
  readonly handled?: HandledTicks;
}

/** A start that was not delivered. */
export interface UndoneStart {
  readonly id: string;
  readonly seq: number;
  readonly scheduledAt: number;
  /** The decided time before the start. */
  readonly decidedUntil: number;
}
