import type { HelperCalls } from "../items/helper-methods.ts";
import { helperOnDemand } from "../items/helper-on-demand.ts";
import type { HelperOptions } from "../items/item-types.ts";
import type { Part } from "../on-demand.ts";
import type {
  DoneJob,
  DoneJobPage,
  EndedJob,
  EnqueuedJob,
  EnqueueOptions,
  JobPage,
  JobToEnqueue,
  PeekOptions,
  QueueJob,
  QueueStats,
  RedriveOptions,
} from "./queue-types.ts";

/**
 * Durable jobs (module `svc-queue`). Each job runs at least once and is retried when it fails. In the end it is done or
 * in the dead-letter queue. All methods reject with CallError, like `worker.call`. Codes are for example
 * `queue_not_found`, `queue_full` and `job_not_found`.
 */
export interface WorkerQueue {
  /**
   * Adds a call of the function to a queue. If `functionId` is null, adds a job that the queue's triggers get. Resolves
   * when the job is stored on disk.
   */
  enqueue(queue: string, functionId: string | null, data?: unknown, options?: EnqueueOptions): Promise<EnqueuedJob>;
  /** Adds all jobs, or none if one of them is rejected. */
  enqueueMany(jobs: readonly JobToEnqueue[], options?: HelperOptions): Promise<readonly EnqueuedJob[]>;
  /**
   * Publishes a message to a topic. Each subscription of type `durable:subscriber` gets a job, even if its worker is
   * disconnected. Resolves when the jobs are stored on disk.
   */
  publish(topic: string, data?: unknown, options?: HelperOptions): Promise<void>;
  list(options?: HelperOptions): Promise<readonly QueueStats[]>;
  stats(queue: string, options?: HelperOptions): Promise<QueueStats>;
  /** Returns a page of the jobs in one state, without removing them. */
  peek<Result = unknown>(
    queue: string,
    options: PeekOptions<"done"> & { readonly state: "done" },
  ): Promise<DoneJobPage<Result>>;
  peek<Data = unknown>(queue: string, options?: PeekOptions): Promise<JobPage<Data>>;
  /**
   * Returns a job. A running job has its progress, and a job that succeeded has its result while that is kept. Rejects
   * with `job_not_found` if the job has ended and is no longer kept.
   */
  getJob<Data = unknown, Result = unknown>(
    jobId: string,
    options?: HelperOptions,
  ): Promise<QueueJob<Data> | DoneJob<Result> | EndedJob>;
  /**
   * Pauses a queue: no jobs are started until `resume`, even after a restart of the engine. New jobs are still
   * accepted.
   */
  pause(queue: string, options?: HelperOptions): Promise<void>;
  resume(queue: string, options?: HelperOptions): Promise<void>;
  /** Deletes the waiting and delayed jobs. Returns their number. */
  purge(queue: string, options?: HelperOptions): Promise<number>;
  /** Deletes a job. If it is running, its call is cancelled. */
  cancel(jobId: string, options?: HelperOptions): Promise<void>;
  /** Moves jobs from the dead-letter queue back to their queue. Returns their number. */
  redrive(queue: string, options?: RedriveOptions): Promise<number>;
  /** Deletes jobs from the dead-letter queue. Returns their number. */
  discard(queue: string, jobIds: readonly string[], options?: HelperOptions): Promise<number>;
}

const METHODS = [
  "enqueue",
  "enqueueMany",
  "publish",
  "list",
  "stats",
  "peek",
  "getJob",
  "pause",
  "resume",
  "purge",
  "cancel",
  "redrive",
  "discard",
] as const satisfies readonly (keyof WorkerQueue)[];

/** The part of the SDK that implements `WorkerQueue`. */
export interface QueuePart {
  readonly QueueCalls: new (calls: HelperCalls) => WorkerQueue;
}

/** Returns the member `queue` of a worker or of a handler's context. */
export function workerQueue(calls: HelperCalls, part: Part<QueuePart>): WorkerQueue {
  return helperOnDemand(part, ({ QueueCalls }) => new QueueCalls(calls), METHODS);
}
