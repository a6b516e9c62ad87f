import { ask, type HelperCalls } from "../items/helper-calls.ts";
import type { HelperOptions } from "../items/item-types.ts";
import type {
  EndedJob,
  EnqueuedJob,
  EnqueueOptions,
  JobOptions,
  JobPage,
  JobToEnqueue,
  PeekOptions,
  QueueJob,
  QueueStats,
  RedriveOptions,
} from "./queue-types.ts";

/**
 * Durable jobs, kept by the module `svc-queue`: each runs at least once, is tried again when it fails, and ends as done or as a dead letter.
 * All of it rejects with CallError, as `worker.call` does: `queue_not_found`, `queue_full`, `job_not_found`.
 */
export class WorkerQueue {
  readonly #calls: HelperCalls;

  /** Not for users: a worker has one, and so has a handler's context. */
  constructor(calls: HelperCalls) {
    this.#calls = calls;
  }

  /** Puts a call of the function on a queue, or with null a job for the queue's triggers. Resolves when the job is on the disk. */
  async enqueue(queue: string, functionId: string | null, data: unknown = null, options: EnqueueOptions = {}): Promise<EnqueuedJob> {
    return ask(this.#calls, "queue::enqueue", jobOf({ ...options, queue, functionId, data }), options);
  }

  /** Stores all of them or none. */
  async enqueueMany(jobs: readonly JobToEnqueue[], options?: HelperOptions): Promise<readonly EnqueuedJob[]> {
    const { jobs: enqueued } = await ask<{ readonly jobs: readonly EnqueuedJob[] }>(this.#calls, "queue::enqueue_many", { jobs: jobs.map(jobOf) }, options);
    return enqueued;
  }

  /** Publishes to a topic: every subscription of type `durable:subscriber` gets a job, also one whose worker is away. Resolves when they are on the disk. */
  async publish(topic: string, data: unknown = null, options?: HelperOptions): Promise<void> {
    await ask(this.#calls, "svc::durable::publish", { topic, data }, options);
  }

  async list(options?: HelperOptions): Promise<readonly QueueStats[]> {
    return (await ask<{ readonly queues: readonly QueueStats[] }>(this.#calls, "queue::list", {}, options)).queues;
  }

  stats(queue: string, options?: HelperOptions): Promise<QueueStats> {
    return ask(this.#calls, "queue::stats", { queue }, options);
  }

  /** A page of the jobs in one state; nothing is taken out. */
  peek<Data = unknown>(queue: string, options: PeekOptions = {}): Promise<JobPage<Data>> {
    const { state, cursor, limit } = options;
    return ask(this.#calls, "queue::peek", { queue, state, cursor, limit }, options);
  }

  /** Rejects with `job_not_found` for one that has ended and is remembered no more. */
  getJob<Data = unknown>(jobId: string, options?: HelperOptions): Promise<QueueJob<Data> | EndedJob> {
    return ask(this.#calls, "queue::get_job", { job_id: jobId }, options);
  }

  /** No job is started until `resume`, over restarts too; jobs are still accepted. */
  async pause(queue: string, options?: HelperOptions): Promise<void> {
    await ask(this.#calls, "queue::pause", { queue }, options);
  }

  async resume(queue: string, options?: HelperOptions): Promise<void> {
    await ask(this.#calls, "queue::resume", { queue }, options);
  }

  /** Takes out what waits or is delayed. Answers how many. */
  async purge(queue: string, options?: HelperOptions): Promise<number> {
    return (await ask<{ readonly purged: number }>(this.#calls, "queue::purge", { queue }, options)).purged;
  }

  /** Takes a job out; one that runs is withdrawn from its worker. */
  async cancel(jobId: string, options?: HelperOptions): Promise<void> {
    await ask(this.#calls, "queue::cancel", { job_id: jobId }, options);
  }

  /** Puts dead letters back on their queue. Answers how many. */
  async redrive(queue: string, options: RedriveOptions = {}): Promise<number> {
    const { jobIds, payload } = options;
    return (await ask<{ readonly redriven: number }>(this.#calls, "queue::redrive", { queue, job_ids: jobIds, payload }, options)).redriven;
  }

  /** Takes dead letters out. Answers how many. */
  async discard(queue: string, jobIds: readonly string[], options?: HelperOptions): Promise<number> {
    return (await ask<{ readonly discarded: number }>(this.#calls, "queue::discard", { queue, job_ids: jobIds }, options)).discarded;
  }
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** Throws TypeError. Untyped callers may hand over anything. */
function instantOf(runAt: unknown): string {
  if (runAt instanceof Date && !Number.isNaN(runAt.getTime())) return runAt.toISOString();
  if (typeof runAt === "string" && RFC_3339.test(runAt) && !Number.isNaN(Date.parse(runAt))) return runAt;
  throw new TypeError(`runAt must be a Date, or text in RFC 3339 like 2026-03-01T09:00:00Z; it is ${typeof runAt === "string" ? `'${runAt}'` : String(runAt)}`);
}

/** As the wire names it; JSON leaves out what is undefined. */
function jobOf(job: JobOptions & { readonly queue: string; readonly functionId: string | null; readonly data: unknown }): Readonly<Record<string, unknown>> {
  return {
    queue: job.queue,
    function_id: job.functionId ?? undefined,
    delay_ms: job.delayMs,
    run_at: job.runAt == null ? undefined : instantOf(job.runAt),
    priority: job.priority,
    dedupe_key: job.dedupeKey,
    expires_in_ms: job.expiresInMs,
    group: job.group,
    max_attempts: job.maxAttempts,
    data: job.data,
  };
}
