import { stored } from "../../../items/adapters/file-thread/stored-text.ts";
import type { Database } from "../../../store/driver.ts";
import { Refusal, type StoreTime, write } from "../../../store/procedures.ts";
import type { AddedJob, NewJob } from "./job.ts";
import {
  ACTIVE,
  AFTER_A_DURATION,
  AT_AN_INSTANT,
  AT_ONCE,
  DONE,
  type JobRow,
  type JobTable,
  type Lease,
  orNull,
} from "./job-table.ts";
import type { JobProcedures } from "./queue-store.ts";
import type { QueueRow } from "./queue-table.ts";
import { beyondShare, sharesOf } from "./share-limits.ts";
import { storedPrincipal } from "./share-table.ts";

/**
 * Maximum expired dedupe keys deleted when a job with a key is added. More than one, so that they do not accumulate.
 */
const MAX_KEYS_DELETED = 4;

/** The lease that a job gets when it is added. */
export interface LeaseOfAdded extends Lease {
  /** Not called if the job is not stored, e.g. because its dedupe key is in use. */
  onLeased(job: JobRow, data: string): void;
}

/**
 * Adds a job to its queue, as a part of another procedure. With `lease`, the job is leased at once; this is allowed
 * only for a job without a delay, a `runAt` and a group. Throws Refusal `queue_full`.
 */
export type AddJob = (job: NewJob, lease?: LeaseOfAdded) => AddedJob;

export function openAddJob(database: Database, jobs: JobTable, time: StoreTime): AddJob {
  const keyed = database.prepare<{ readonly job: string; readonly expires_at: number }>(
    "SELECT job, expires_at FROM dedupe_keys WHERE queue = ? AND principal = ? AND key = ?",
  );
  const remember = database.prepare(
    "INSERT INTO dedupe_keys (queue, principal, key, job, expires_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (queue, principal, key) DO UPDATE SET job = excluded.job, expires_at = excluded.expires_at, ended = NULL",
  );
  const dropKeys = database.prepare(
    `DELETE FROM dedupe_keys WHERE (queue, principal, key) IN (SELECT queue, principal, key FROM dedupe_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ${MAX_KEYS_DELETED})`,
  );

  return (job, lease) => {
    const now = time.now();
    const before = jobs.byId(job.id);
    if (before !== undefined && before.state !== DONE) return { id: job.id, duplicate: true };
    const queue = jobs.queues.open(job.queue);
    // Dedupe keys are separate for each principal, so that no principal can take a key that another principal will use.
    const principal = storedPrincipal(job.maker?.principal);
    const key = job.dedupeKey === undefined ? null : stored(job.dedupeKey);
    if (key !== null) {
      const holder = keyed.get(queue.id, principal, key);
      if (holder !== undefined && holder.expires_at > now) return { id: holder.job, duplicate: true };
    }
    const problem =
      (job.maker === undefined ? undefined : beyondShare(queue, job.maker, job, jobs.queues)) ??
      beyondLimits(queue, job);
    if (problem !== undefined) {
      if (job.mayBeDropped === true) return { id: job.id, duplicate: false, dropped: problem.message };
      throw problem;
    }
    if (key !== null) {
      dropKeys.run(now);
      remember.run(queue.id, principal, key, job.id, now + job.dedupeWindowMs);
    }
    const row = rowOf(job, queue, time);
    if (row.timed === AT_ONCE) queue.last_due = row.due;
    queue.added += 1;
    jobs.queues.changed(queue);
    // Delete a done job with the same id only now, because it must keep its result if the new job is refused.
    if (before !== undefined) jobs.forget(before);
    const seq = jobs.put(row, job.data, lease);
    lease?.onLeased({ ...row, seq, state: ACTIVE }, job.data);
    return { id: job.id, duplicate: false };
  };
}

function rowOf(job: NewJob, queue: QueueRow, time: StoreTime): Omit<JobRow, "seq" | "state"> {
  return {
    id: job.id,
    queue: queue.id,
    function: job.functionId ?? "",
    priority: job.priority,
    ...dueOf(job, queue, time),
    created_at: time.wall(),
    expires_at: job.expiresInMs === undefined ? null : time.now() + job.expiresInMs,
    failed_at: null,
    attempts: 0,
    max_attempts: job.maxAttempts,
    bytes: job.bytes,
    grp: job.group === undefined ? null : stored(job.group),
    dedupe: job.dedupeKey === undefined ? null : stored(job.dedupeKey),
    traceparent: job.traceparent ?? null,
    baggage: job.baggage ?? null,
    principal: storedPrincipal(job.maker?.principal),
    role: orNull(job.maker?.role),
    provider: orNull(job.provider),
  };
}

function dueOf({ runAt, delayMs = 0 }: NewJob, queue: QueueRow, time: StoreTime): Pick<JobRow, "due" | "timed"> {
  if (runAt !== undefined && runAt > time.wall()) return { due: runAt, timed: AT_AN_INSTANT };
  if (runAt === undefined && delayMs > 0) return { due: time.now() + delayMs, timed: AFTER_A_DURATION };
  return { due: Math.max(time.now(), queue.last_due), timed: AT_ONCE };
}

export function openAddProcedures(add: AddJob) {
  return {
    add: write(({ jobs }) => jobs.map((job) => add(job))),
  } satisfies Pick<JobProcedures, "add">;
}

/**
 * Returns why the queue is full, or undefined if it has room. Jobs of restricted principals count only up to the share
 * of all these principals together, so that they cannot fill the queue for trusted callers.
 */
function beyondLimits(queue: QueueRow, { bytes, limits }: NewJob): Refusal | undefined {
  const { name } = queue;
  const counted = (all: number, restricted: number, limit: number): number =>
    all - Math.max(0, restricted - sharesOf(limit).restricted);
  const depth = counted(queue.waiting + queue.delayed + queue.active, queue.restricted_depth, limits.maxDepth);
  if (depth >= limits.maxDepth) {
    const problem = `queue ${name} holds ${depth} jobs, and its limit is ${limits.maxDepth} (max_depth): wait until some have run, or raise the limit`;
    return new Refusal("queue_full", problem, { queue: name, depth, max_depth: limits.maxDepth });
  }
  const held = counted(queue.bytes, queue.restricted_bytes, limits.maxBytes);
  if (held + bytes > limits.maxBytes) {
    const problem = `queue ${name} holds ${held} bytes of data; ${bytes} more exceed its limit of ${limits.maxBytes} (max_bytes): wait until some jobs have run, or raise the limit`;
    return new Refusal("queue_full", problem, { queue: name, bytes: held, max_bytes: limits.maxBytes });
  }
  const dead = counted(queue.dead, queue.restricted_dead, limits.maxDead);
  if (dead >= limits.maxDead) {
    const problem = `queue ${name} has ${dead} dead letters and its limit is ${limits.maxDead} (max_dead): redrive or discard some of them`;
    return new Refusal("queue_full", problem, { queue: name, dead, max_dead: limits.maxDead });
  }
  return undefined;
}
