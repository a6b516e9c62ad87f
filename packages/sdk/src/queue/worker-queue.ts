import { callEngine, callForResult, type HelperCalls, helperOptions, wireMembers } from "../items/call-engine.ts";
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
const OPTIONS = helperOptions("queue", {
  enqueue: JOB_OPTIONS,
  enqueueMany: [],
  publish: [],
  list: [],
  stats: [],
  peek: PEEK_OPTIONS,
  getJob: [],
  pause: [],
  resume: [],
  purge: [],
  cancel: [],
  redrive: REDRIVE_OPTIONS,
  discard: [],
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
    return callForResult(this.#calls, "queue::enqueue", job, options, OPTIONS.enqueue);
  }

  /** Adds all jobs or none. */
  async enqueueMany(jobs: readonly JobToEnqueue[], options?: HelperOptions): Promise<readonly EnqueuedJob[]> {
    const { jobs: enqueued } = await callForResult<{ readonly jobs: readonly EnqueuedJob[] }>(
      this.#calls,
      "queue::enqueue_many",
      { jobs: jobs.map((job) => jobOf(checkedOptions(job, jobMembers))) },
      options,
      OPTIONS.enqueueMany,
      { jobs: {} },
    );
    return enqueued;
  }

  /**
   * Publishes to a topic: every subscription of type `durable:subscriber` receives a job, even if its worker is
   * disconnected. Resolves when the jobs are stored on disk.
   */
  async publish(topic: string, data: unknown = null, options?: HelperOptions): Promise<void> {
    await callEngine(this.#calls, "svc::durable::publish", { topic, data }, options, OPTIONS.publish);
  }

  async list(options?: HelperOptions): Promise<readonly QueueStats[]> {
    const { queues } = await callForResult<{ readonly queues: readonly QueueStats[] }>(
      this.#calls,
      "queue::list",
      {},
      options,
      OPTIONS.list,
      { queues: {} },
    );
    return queues;
  }

  stats(queue: string, options?: HelperOptions): Promise<QueueStats> {
    return callForResult(this.#calls, "queue::stats", { queue }, options, OPTIONS.stats);
  }

  /** Returns a page of the jobs in one state, without removing them. */
  peek<Result = unknown>(
    queue: string,
    options: PeekOptions<"done"> & { readonly state: "done" },
  ): Promise<DoneJobPage<Result>>;
  peek<Data = unknown>(queue: string, options?: PeekOptions): Promise<JobPage<Data>>;
  peek(queue: string, options?: PeekOptions<ListedJobState>): Promise<unknown> {
    const payload = { queue, ...wireMembers(options, PEEK_OPTIONS) };
    return callForResult(this.#calls, "queue::peek", payload, options, OPTIONS.peek, { jobs: JOB });
  }

  /**
   * Returns a job: a running one with its progress, one that succeeded with its result while it is kept. Rejects with
   * `job_not_found` if it has ended and is no longer kept.
   */
  getJob<Data = unknown, Result = unknown>(
    jobId: string,
    options?: HelperOptions,
  ): Promise<QueueJob<Data> | DoneJob<Result> | EndedJob> {
    return callForResult(this.#calls, "queue::get_job", { job_id: jobId }, options, OPTIONS.getJob, JOB);
  }

  /** Starts no jobs until `resume`, even after a restart of the engine. Jobs are still accepted. */
  async pause(queue: string, options?: HelperOptions): Promise<void> {
    await callEngine(this.#calls, "queue::pause", { queue }, options, OPTIONS.pause);
  }

  async resume(queue: string, options?: HelperOptions): Promise<void> {
    await callEngine(this.#calls, "queue::resume", { queue }, options, OPTIONS.resume);
  }

  /** Deletes the waiting and delayed jobs. Returns their number. */
  async purge(queue: string, options?: HelperOptions): Promise<number> {
    const known = OPTIONS.purge;
    return (await callEngine<{ readonly purged: number }>(this.#calls, "queue::purge", { queue }, options, known))
      .purged;
  }

  /** Deletes a job. If it is running, its call is cancelled. */
  async cancel(jobId: string, options?: HelperOptions): Promise<void> {
    await callEngine(this.#calls, "queue::cancel", { job_id: jobId }, options, OPTIONS.cancel);
  }

  /** Moves jobs from the dead-letter queue back to their queue. Returns their number. */
  async redrive(queue: string, options?: RedriveOptions): Promise<number> {
    const { redriven } = await callEngine<{ readonly redriven: number }>(
      this.#calls,
      "queue::redrive",
      { queue, ...wireMembers(options, REDRIVE_OPTIONS) },
      options,
      OPTIONS.redrive,
    );
    return redriven;
  }

  /** Deletes jobs from the dead-letter queue. Returns their number. */
  async discard(queue: string, jobIds: readonly string[], options?: HelperOptions): Promise<number> {
    return (
      await callEngine<{ readonly discarded: number }>(
        this.#calls,
        "queue::discard",
        { queue, job_ids: jobIds },
        options,
        OPTIONS.discard,
      )
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
