import { stored } from "../../../items/adapters/file-thread/stored-text.ts";
import type { Database } from "../../../store/driver.ts";
import { Refusal, write } from "../../../store/procedures.ts";
import type { AddedJob, NewJob } from "./job.ts";
import { AFTER_A_DURATION, AT_AN_INSTANT, AT_ONCE, type JobRow, type JobTable } from "./job-table.ts";
import type { JobProcedures } from "./queue-store.ts";
import type { QueueRow } from "./queue-table.ts";

/** Dedupe keys past their time that go with each job that brings one, so that they never pile up. */
const KEYS_DROPPED_AT_ONCE = 4;

/** Puts one job on its queue inside another procedure; throws Refusal `queue_full`. */
export type AddJob = (job: NewJob, now: number) => AddedJob;

export function openAddJob(database: Database, jobs: JobTable): AddJob {
  const keyed = database.prepare<{ readonly job: string; readonly expires_at: number }>("SELECT job, expires_at FROM dedupe_keys WHERE queue = ? AND key = ?");
  const remember = database.prepare(
    "INSERT INTO dedupe_keys (queue, key, job, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT (queue, key) DO UPDATE SET job = excluded.job, expires_at = excluded.expires_at, ended = NULL",
  );
  const dropKeys = database.prepare(
    `DELETE FROM dedupe_keys WHERE (queue, key) IN (SELECT queue, key FROM dedupe_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ${KEYS_DROPPED_AT_ONCE})`,
  );

  return (job, now) => {
    if (jobs.byId(job.id) !== undefined) return { id: job.id, duplicate: true };
    const queue = jobs.queues.open(job.queue);
    const key = job.dedupeKey === undefined ? null : stored(job.dedupeKey);
    if (key !== null) {
      const holder = keyed.get(queue.id, key);
      if (holder !== undefined && holder.expires_at > now) return { id: holder.job, duplicate: true };
    }
    refuseBeyondLimits(queue, job);
    if (key !== null) {
      dropKeys.run(now);
      remember.run(queue.id, key, job.id, now + job.dedupeWindowMs);
    }
    const row = rowOf(job, queue, now);
    if (row.timed === AT_ONCE) queue.last_due = row.due;
    queue.added += 1;
    jobs.queues.changed(queue);
    jobs.put(row, job.data, now);
    return { id: job.id, duplicate: false };
  };
}

function rowOf(job: NewJob, queue: QueueRow, now: number): Omit<JobRow, "seq" | "state"> {
  return {
    id: job.id,
    queue: queue.id,
    function: job.functionId ?? "",
    priority: job.priority,
    due: job.runAt ?? Math.max(now, queue.last_due),
    timed: timedOf(job),
    created_at: now,
    expires_at: job.expiresAt ?? null,
    failed_at: null,
    attempts: 0,
    max_attempts: job.maxAttempts,
    bytes: job.bytes,
    grp: job.group === undefined ? null : stored(job.group),
    dedupe: job.dedupeKey === undefined ? null : stored(job.dedupeKey),
    traceparent: job.traceparent ?? null,
    baggage: job.baggage ?? null,
  };
}

function timedOf({ runAt, runAtIsInstant }: NewJob): number {
  if (runAt === undefined) return AT_ONCE;
  return runAtIsInstant === true ? AT_AN_INSTANT : AFTER_A_DURATION;
}

export function openAddProcedures(add: AddJob) {
  return {
    add: write(({ jobs, now }) => jobs.map((job) => add(job, now))),
  } satisfies Pick<JobProcedures, "add">;
}

function refuseBeyondLimits(queue: QueueRow, { bytes, limits }: NewJob): void {
  const { name, dead } = queue;
  const depth = queue.waiting + queue.delayed + queue.active;
  if (depth >= limits.maxDepth) {
    const problem = `queue ${name} holds ${depth} jobs, and no more than ${limits.maxDepth} may wait`;
    throw new Refusal("queue_full", problem, { queue: name, depth, max_depth: limits.maxDepth });
  }
  if (queue.bytes + bytes > limits.maxBytes) {
    const problem = `queue ${name} holds ${queue.bytes} bytes of data, and ${bytes} more are over its limit of ${limits.maxBytes}`;
    throw new Refusal("queue_full", problem, { queue: name, bytes: queue.bytes, max_bytes: limits.maxBytes });
  }
  if (dead >= limits.maxDead) {
    const problem = `queue ${name} has ${dead} dead letters, and takes no jobs until some of them are redriven or discarded; the limit is ${limits.maxDead}`;
    throw new Refusal("queue_full", problem, { queue: name, dead, max_dead: limits.maxDead });
  }
}
