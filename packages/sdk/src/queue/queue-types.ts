import type { HelperOptions } from "../items/item-types.ts";

/** How a job is put on a queue. What is left out is as the queue says. */
export interface JobOptions {
  /** Runs so many milliseconds from now at the earliest. Not together with `runAt`. */
  readonly delayMs?: number | undefined;
  /** Runs at that time at the earliest: a Date, or text in RFC 3339, e.g. `2026-03-01T09:00:00Z`. With anything else the call rejects with TypeError. */
  readonly runAt?: Date | string | undefined;
  /** Higher ones come first. Default 0. */
  readonly priority?: number | undefined;
  /** While a job with the same key is remembered (10 minutes), nothing is stored and that job is answered. */
  readonly dedupeKey?: string | undefined;
  /** A job that has not begun by then is dropped. */
  readonly expiresInMs?: number | undefined;
  /** Jobs of one group run one after another, in order; groups beside each other. */
  readonly group?: string | undefined;
  /** Attempts before it is a dead letter. */
  readonly maxAttempts?: number | undefined;
}

export interface EnqueueOptions extends JobOptions, HelperOptions {}

/** One job of `enqueueMany`. */
export interface JobToEnqueue extends JobOptions {
  readonly queue: string;
  /** Null: for the queue's triggers. */
  readonly functionId: string | null;
  readonly data: unknown;
}

export interface EnqueuedJob {
  /** Of the job that is on the queue: with `duplicate`, of the first one. */
  readonly job_id: string;
  /** The dedupe key was in use; nothing was stored. */
  readonly duplicate: boolean;
}

export type JobState = "waiting" | "delayed" | "active" | "dead";

/** One attempt that failed. */
export interface JobFailure {
  /** Counted from 1. */
  readonly attempt: number;
  readonly at: string;
  readonly code: string;
  readonly message: string;
  readonly stack: string | null;
  /** Name and id of the worker that ran it. */
  readonly worker: string | null;
  readonly trace_id: string | null;
}

/** A job as it lies on its queue. Times are RFC 3339. */
export interface QueueJob<Data = unknown> {
  readonly job_id: string;
  readonly queue: string;
  readonly function_id: string | null;
  readonly state: JobState;
  readonly data: Data;
  /** Attempts that ran and failed. */
  readonly attempts: number;
  readonly max_attempts: number;
  readonly priority: number;
  readonly created_at: string;
  /** When it may run, of a delayed one. */
  readonly run_at: string | null;
  readonly expires_at: string | null;
  readonly group: string | null;
  readonly dedupe_key: string | null;
  /** The restricted principal that made it, e.g. `role guest`, and its role; null: a trusted caller. Older engines do not say it. */
  readonly made_by?: { readonly principal: string; readonly role: string | null } | null;
  /** When it died, of a dead one. */
  readonly failed_at: string | null;
  readonly trace_id: string | null;
  /** Of its data. */
  readonly bytes: number;
  /** The last 20, oldest first; the last one of a dead job is why it died. */
  readonly failures: readonly JobFailure[];
}

/** A job that is over. It is remembered as long as its dedupe key is. */
export interface EndedJob {
  readonly job_id: string;
  readonly queue: string;
  readonly state: "done" | "cancelled" | "expired";
}

/** What a queue holds, and what became of its jobs since it was first used. */
export interface QueueStats {
  readonly queue: string;
  /** Ready, or behind another of their group. */
  readonly waiting: number;
  readonly delayed: number;
  readonly active: number;
  readonly dead: number;
  readonly bytes: number;
  readonly paused: boolean;
  readonly added: number;
  readonly done: number;
  readonly died: number;
  readonly expired: number;
  readonly cancelled: number;
  /** Null: the queue holds something, but is not declared. */
  readonly type: "standard" | "fifo" | null;
  readonly concurrency: number | null;
  /** Where it is the queue of a subscription: its topic. */
  readonly topic: string | null;
}

export interface PeekOptions extends HelperOptions {
  /** Default `waiting`. */
  readonly state?: JobState | undefined;
  /** `cursor` of the page before. */
  readonly cursor?: string | undefined;
  /** Most jobs of the page. */
  readonly limit?: number | undefined;
}

export interface JobPage<Data = unknown> {
  readonly jobs: readonly QueueJob<Data>[];
  /** Null on the last page. */
  readonly cursor: string | null;
}

export interface RedriveOptions extends HelperOptions {
  /** Only these dead letters; an id that is none is an error, and then none is redriven. Default: all. */
  readonly jobIds?: readonly string[] | undefined;
  /** Data in place of theirs. */
  readonly payload?: unknown;
}
