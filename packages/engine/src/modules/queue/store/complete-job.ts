import type { Database } from "../../../store/driver.ts";
import { type StoreRuns, type StoreTime, write } from "../../../store/procedures.ts";
import { AFTER_A_DURATION, DEAD, DELAYED, JOB_COLUMNS, type JobRow, type JobTable, READY } from "./job-table.ts";
import type { CompleteOutput, JobProcedures, LeaseInput } from "./queue-store.ts";

/** Maximum jobs expired per call. */
const MAX_EXPIRED = 1_000;

type Leased = JobRow & { readonly lease_run: string; readonly lease_take: number };

export function openCompleteProcedures(
  database: Database,
  jobs: JobTable,
  { time, runs }: { readonly time: StoreTime; readonly runs: StoreRuns },
) {
  const leased = database.prepare<Leased>(
    `SELECT ${JOB_COLUMNS}, lease_run, lease_take FROM jobs WHERE queue = ? AND state = 3`,
  );
  const removeExpiry = database.prepare("UPDATE jobs SET expires_at = NULL WHERE seq = ?");
  const expiring = database.prepare<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs WHERE expires_at <= ? AND expires_at IS NOT NULL AND state < 3 ORDER BY expires_at LIMIT ?`,
  );
  const nextExpiry = database.prepare<{ readonly at: number }>(
    "SELECT expires_at AS at FROM jobs WHERE expires_at IS NOT NULL AND state < 3 ORDER BY expires_at LIMIT 1",
  );
  /**
   * Changes a job that the run has leased. `change` returns whether the next job of the group was unblocked. Throws
   * Refusal `lease_lost`.
   */
  function ofRun(lease: LeaseInput, change: (job: JobRow) => boolean): CompleteOutput {
    const job = jobs.leased(lease);
    return { queue: jobs.queues.byId(job.queue).name, unblocked: change(job) };
  }

  /** Makes the leased jobs for which `isOrphaned` returns true ready again. Returns their number. */
  function releaseLeases(isOrphaned: (job: Leased) => boolean): number {
    let found = 0;
    for (const name of jobs.queues.names()) {
      const queue = jobs.queues.open(name);
      const orphaned = queue.active === 0 ? [] : leased.all(queue.id).filter(isOrphaned);
      for (const job of orphaned) jobs.move(job, READY);
      found += orphaned.length;
    }
    return found;
  }

  return {
    undoTake: write(({ run, take }) => releaseLeases((job) => job.lease_run === run && job.lease_take === take)),
    drop: write((lease) => ofRun(lease, (job) => jobs.end(job, "cancelled"))),
    retry: write(({ failure, delayMs, ...lease }) =>
      ofRun(lease, (job) => {
        jobs.fail(job, failure);
        // The job started before it expired, so it no longer expires.
        if (job.expires_at !== null) removeExpiry.run(job.seq);
        jobs.move(job, DELAYED, { due: time.now() + delayMs, timed: AFTER_A_DURATION, attempts: job.attempts + 1 });
        return false;
      }),
    ),
    release: write((lease) =>
      ofRun(lease, (job) => {
        jobs.move(job, READY);
        return false;
      }),
    ),
    deadLetter: write(({ failure, ...lease }) =>
      ofRun(lease, (job) => {
        jobs.fail(job, failure);
        jobs.move(job, DEAD, { attempts: failure.attempt, failedAt: failure.at });
        const queue = jobs.queues.byId(job.queue);
        queue.died += 1;
        jobs.queues.changed(queue);
        return jobs.unblock(job);
      }),
    ),
    releaseRuns: write(({ runs }) => releaseLeases(({ lease_run }) => runs.includes(lease_run))),
    // `members` was read when the request was made. So check also whether the run has joined the cluster since then.
    recover: write(({ members }) =>
      releaseLeases(({ lease_run }) => !members.includes(lease_run) && !runs.isMember(lease_run)),
    ),
    expire: write((_: null) => {
      const now = time.now();
      const ended = expiring.all(now, MAX_EXPIRED);
      for (const { seq } of ended) {
        // Read the job again: the end of an earlier job of the group may have unblocked it and so changed its state.
        const job = jobs.find(seq);
        if (job !== undefined) jobs.end(job, "expired");
      }
      const next = nextExpiry.get()?.at;
      return { expired: ended.length, nextMs: next === undefined ? undefined : Math.max(0, next - now) };
    }),
  } satisfies Partial<JobProcedures>;
}
