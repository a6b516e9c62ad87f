import type { HandledTicks } from "./handled-ticks.ts";

/** How a run ended, or why there was none. */
export type Outcome = "ok" | "error" | "skipped" | "enqueued";

/** One line of a job's history. Instants are milliseconds since 1970. */
export interface Run {
  /** Counts the lines of a job. */
  readonly seq: number;
  /** The tick; of several that were passed over together, the last. */
  readonly scheduledAt: number;
  /** Null: nothing was started. */
  readonly startedAt: number | null;
  /** Null: it goes on. */
  readonly finishedAt: number | null;
  /** Null: it goes on. */
  readonly outcome: Outcome | null;
  readonly error: string | null;
  /** Somebody asked for it. */
  readonly manual: boolean;
  /** Ticks that the line stands for when nothing was started, 100 at most; else 0. */
  readonly passedOver: number;
}

/** What is kept of a job, as far as the engine works with it. */
export interface StoredJob {
  /** Every tick up to here has been decided on. */
  readonly decidedUntil: number;
  readonly handled: HandledTicks;
  readonly paused: boolean;
  /** The latest line of its history. */
  readonly lastRun: Run | undefined;
  /** Starts of a former run of the engine that were to be put on a queue, and may not have been. */
  readonly toRedeliver: readonly Run[];
}

/** A job is there again, or for the first time. */
export interface Adoption {
  readonly kind: "adopt";
  readonly id: string;
  readonly functionId: string;
  /** For people who look into the file. */
  readonly config: string;
  readonly now: number;
  /** Starts since then that were to be put on a queue are handed back, since doing so again does no harm. */
  readonly redeliverFrom: number | undefined;
  /** A trusted worker asks for it. False leaves it at what is stored. */
  readonly isTrusted: boolean;
}

/** Whether the job belongs to a trusted worker has changed. */
export interface OwnerChange {
  readonly kind: "own";
  readonly id: string;
  readonly isTrusted: boolean;
}

/** Somebody took the job back: what comes due from now on is not missed. A restricted connection cannot do that to a trusted worker's job. */
export interface Retirement {
  readonly kind: "retire";
  readonly id: string;
  readonly now: number;
  /** A trusted worker took it back. */
  readonly isTrusted: boolean;
}

/** The clock was set back: ticks after `decidedUntil` are decided on again, unless they are handled. */
export interface Rewind {
  readonly kind: "rewind";
  readonly id: string;
  readonly decidedUntil: number;
  readonly handled: HandledTicks;
}

/** One line to write, and what it decides. */
export interface Entry {
  readonly id: string;
  readonly run: Run;
  /** Undefined: it decides on no tick. */
  readonly decidedUntil: number | undefined;
  /** Absent: as it is. */
  readonly handled?: HandledTicks;
}

/** A start that came to nothing. */
export interface TakenBack {
  readonly id: string;
  readonly seq: number;
  readonly scheduledAt: number;
  /** What had been decided on before it. */
  readonly decidedUntil: number;
}
