import { type HelperCalls, HelperMethods, wireMembers } from "../items/helper-methods.ts";
import type { HelperOptions } from "../items/item-types.ts";
import { checkedOptions, optionNames } from "../names/option-names.ts";
import type {
  DoneJob,
  DoneJobPage,
  EndedJob,
  EnqueuedJob,
  EnqueueOptions,
  JobOptions,
  JobPage,
  JobToEnqueue,
  ListedJobState,
  PeekOptions,
  QueueJob,
  QueueStats,
  RedriveOptions,
} from "./queue-types.ts";

const JOB_OPTIONS = ["delayMs", "runAt", "priority", "dedupeKey", "expiresInMs", "group", "maxAttempts"] as const;
const PEEK_OPTIONS = ["state", "cursor", "limit"] as const;
const REDRIVE_OPTIONS = ["jobIds", "payload"] as const;
const METHODS = /* @__PURE__ */ new HelperMethods("queue", {
  enqueue: JOB_OPTIONS,
  peek: PEEK_OPTIONS,
  redrive: REDRIVE_OPTIONS,
});
const jobMembers = optionNames("a job of queue.enqueueMany", ["queue", "functionId", "data", ...JOB_OPTIONS]);
/** Members of a job whose values are the engine's. */
const JOB = { failures: {}, made_by: {} };

/**
 * Durable jobs (module `svc-queue`). Each job runs at least once, is retried when it fails, and ends as done or in the
 * dead-letter queue. All methods reject with CallError, as `worker.call` does: `queue_not_found`, `queue_full`,
 * `job_not_found`.
 */
export class WorkerQueue {
  readonly #calls: HelperCalls;

  /** Internal: available as a member of a worker and of a handler's context. */
  constructor(calls: HelperCalls) {
    this.#calls = calls;
  }

  /**
   * Adds a call of the function to a queue, or with null a job for the queue's triggers. Resolves when the job is
   * stored on disk.
   */
  async enqueue(
    queue: string,
    functionId: string | null,
    data: unknown = null,
    options?: EnqueueOptions,
  ): Promise<EnqueuedJob> {
    const job = jobOf({ ...options, queue, functionId, data });
    return METHODS.result(this.#calls, "enqueue", job, options);
  }

  /** Adds all jobs or none. */
  async enqueueMany(jobs: readonly JobToEnqueue[], options?: HelperOptions): Promise<readonly EnqueuedJob[]> {
    const { jobs: enqueued } = await METHODS.result<{ readonly jobs: readonly EnqueuedJob[] }>(
      this.#calls,
      "enqueueMany",
      { jobs: jobs.map((job) => jobOf(checkedOptions(job, jobMembers))) },
      options,
      { jobs: {} },
    );
    return enqueued;
  }

  /**
   * Publishes to a topic: every subscription of type `durable:subscriber` receives a job, even if its worker is
   * disconnected. Resolves when the jobs are stored on disk.
   */
  async publish(topic: string, data: unknown = null, options?: HelperOptions): Promise<void> {
    await METHODS.call(this.#calls, "publish", { topic, data }, options, "svc::durable::publish");
  }

  async list(options?: HelperOptions): Promise<readonly QueueStats[]> {
    const { queues } = await METHODS.result<{ readonly queues: readonly QueueStats[] }>(
      this.#calls,
      "list",
      {},
      options,
      { queues: {} },
    );
    return queues;
  }

  stats(queue: string, options?: HelperOptions): Promise<QueueStats> {
    return METHODS.result(this.#calls, "stats", { queue }, options);
  }

  /** Returns a page of the jobs in one state, without removing them. */
  peek<Result = unknown>(
    queue: string,
    options: PeekOptions<"done"> & { readonly state: "done" },
  ): Promise<DoneJobPage<Result>>;
  peek<Data = unknown>(queue: string, options?: PeekOptions): Promise<JobPage<Data>>;
  peek(queue: string, options?: PeekOptions<ListedJobState>): Promise<unknown> {
    const payload = { queue, ...wireMembers(options, PEEK_OPTIONS) };
    return METHODS.result(this.#calls, "peek", payload, options, { jobs: JOB });
  }

  /**
   * Returns a job: a running one with its progress, one that succeeded with its result while it is kept. Rejects with
   * `job_not_found` if it has ended and is no longer kept.
   */
  getJob<Data = unknown, Result = unknown>(
    jobId: string,
    options?: HelperOptions,
  ): Promise<QueueJob<Data> | DoneJob<Result> | EndedJob> {
    return METHODS.result(this.#calls, "getJob", { job_id: jobId }, options, JOB);
  }

  /** Starts no jobs until `resume`, even after a restart of the engine. Jobs are still accepted. */
  async pause(queue: string, options?: HelperOptions): Promise<void> {
    await METHODS.call(this.#calls, "pause", { queue }, options);
  }

  async resume(queue: string, options?: HelperOptions): Promise<void> {
    await METHODS.call(this.#calls, "resume", { queue }, options);
  }

  /** Deletes the waiting and delayed jobs. Returns their number. */
  async purge(queue: string, options?: HelperOptions): Promise<number> {
    return (await METHODS.call<{ readonly purged: number }>(this.#calls, "purge", { queue }, options)).purged;
  }

  /** Deletes a job. If it is running, its call is cancelled. */
  async cancel(jobId: string, options?: HelperOptions): Promise<void> {
    await METHODS.call(this.#calls, "cancel", { job_id: jobId }, options);
  }

  /** Moves jobs from the dead-letter queue back to their queue. Returns their number. */
  async redrive(queue: string, options?: RedriveOptions): Promise<number> {
    const { redriven } = await METHODS.call<{ readonly redriven: number }>(
      this.#calls,
      "redrive",
      { queue, ...wireMembers(options, REDRIVE_OPTIONS) },
      options,
    );
    return redriven;
  }

  /** Deletes jobs from the dead-letter queue. Returns their number. */
  async discard(queue: string, jobIds: readonly string[], options?: HelperOptions): Promise<number> {
    return (
      await METHODS.call<{ readonly discarded: number }>(this.#calls, "discard", { queue, job_ids: jobIds }, options)
    ).discarded;
  }
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Returns RFC 3339. Untyped callers may pass any value.
 *
 * @throws TypeError for other values.
 */
function instantOf(runAt: unknown): string {
  if (runAt instanceof Date && !Number.isNaN(runAt.getTime())) return runAt.toISOString();
  if (typeof runAt === "string" && RFC_3339.test(runAt) && !Number.isNaN(Date.parse(runAt))) return runAt;
  throw new TypeError(
    `runAt must be a Date or an RFC 3339 string such as 2026-03-01T09:00:00Z; it is ${typeof runAt === "string" ? `'${runAt}'` : String(runAt)}`,
  );
}

/** Members under their wire names. JSON omits undefined members. */
function jobOf(
  job: JobOptions & { readonly queue: string; readonly functionId: string | null; readonly data: unknown },
): Readonly<Record<string, unknown>> {
  return {
    queue: job.queue,
    function_id: job.functionId ?? undefined,
    ...wireMembers(job, JOB_OPTIONS),
    run_at: job.runAt == null ? undefined : instantOf(job.runAt),
    data: job.data,
  };
}
