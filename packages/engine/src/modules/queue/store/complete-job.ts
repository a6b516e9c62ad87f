import type { Database } from "../../../store/driver.ts";
import { write } from "../../../store/procedures.ts";
import {
  ACTIVE,
  AFTER_A_DURATION,
  DEAD,
  DELAYED,
  JOB_COLUMNS,
  type JobRow,
  type JobTable,
  READY,
} from "./job-table.ts";
import type { CompleteOutput, JobProcedures } from "./queue-store.ts";

/** Maximum jobs expired per call. */
const MAX_EXPIRED = 1_000;

export function openCompleteProcedures(database: Database, jobs: JobTable) {
  const leased = database.prepare<JobRow & { readonly lease_run: string; readonly lease_until: number }>(
    `SELECT ${JOB_COLUMNS}, lease_run, lease_until FROM jobs WHERE queue = ? AND state = 3`,
  );
  const extend = database.prepare("UPDATE jobs SET lease_until = ? WHERE seq = ? AND state = 3 AND lease_run = ?");
  const cutDelays = database.prepare(
    "UPDATE jobs SET due = ?1 WHERE queue = ?2 AND state = 2 AND due > ?1 AND timed = 1 AND attempts > 0",
  );
  const removeExpiry = database.prepare("UPDATE jobs SET expires_at = NULL WHERE seq = ?");
  const expiring = database.prepare<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs WHERE expires_at <= ? AND expires_at IS NOT NULL AND state < 3 ORDER BY expires_at LIMIT ?`,
  );
  const nextExpiry = database.prepare<{ readonly at: number }>(
    "SELECT expires_at AS at FROM jobs WHERE expires_at IS NOT NULL AND state < 3 ORDER BY expires_at LIMIT 1",
  );
  const shiftDue = database.prepare("UPDATE jobs SET due = due + ? WHERE state IN (1, 2) AND timed = 1");
  const shiftExpiry = database.prepare("UPDATE jobs SET expires_at = expires_at + ? WHERE expires_at IS NOT NULL");
  const shiftKeys = database.prepare("UPDATE dedupe_keys SET expires_at = expires_at + ?");

  const shiftSubscriptions = database.prepare("UPDATE subscriptions SET seen_at = seen_at + ?");
  const shiftBacklog = database.prepare("UPDATE backlog SET at = at + ?");

  /** Changes the job if it is still active: another call may have ended it. */
  function ifActive(seq: number, change: (job: JobRow) => boolean): CompleteOutput {
    const job = jobs.find(seq);
    return { unblocked: job?.state === ACTIVE && change(job) };
  }

  function active(name: string) {
    const queue = jobs.queues.find(name);
    return queue === undefined || queue.active === 0 ? [] : leased.all(queue.id);
  }

  return {
    renew: write(({ seqs, run, now, leaseUntil }) => {
      for (const seq of seqs) extend.run(leaseUntil, seq, run);
      return jobs.queues.names().filter((name) => {
        const lapsed = active(name).filter(({ lease_until }) => lease_until <= now);
        for (const job of lapsed) jobs.move(job, READY);
        return lapsed.length > 0;
      });
    }),
    drop: write(({ seq }) => ifActive(seq, (job) => jobs.end(job, "cancelled"))),
    retry: write(({ seq, failure, runAt }) =>
      ifActive(seq, (job) => {
        jobs.fail(job, failure);
        // The job started before it expired, so it no longer expires.
        if (job.expires_at !== null) removeExpiry.run(job.seq);
        jobs.move(job, DELAYED, { due: runAt, timed: AFTER_A_DURATION, attempts: job.attempts + 1 });
        return false;
      }),
    ),
    release: write(({ seq }) =>
      ifActive(seq, (job) => {
        jobs.move(job, READY);
        return false;
      }),
    ),
    deadLetter: write(({ seq, failure }) =>
      ifActive(seq, (job) => {
        jobs.fail(job, failure);
        jobs.move(job, DEAD, { attempts: failure.attempt, failedAt: failure.at });
        const queue = jobs.queues.byId(job.queue);
        queue.died += 1;
        jobs.queues.changed(queue);
        return jobs.unblock(job);
      }),
    ),
    recover: write(({ run, now, maxDelayMs }) => {
      let found = 0;
      for (const name of jobs.queues.names()) {
        const left = active(name).filter(({ lease_run }) => lease_run !== run);
        for (const job of left) jobs.move(job, READY);
        found += left.length;
        cutDelays.run(now + maxDelayMs, jobs.queues.open(name).id);
      }
      return found;
    }),
    expire: write(({ now }) => {
      const ended = expiring.all(now, MAX_EXPIRED);
      for (const { seq } of ended) {
        // An earlier one may have unblocked this job and so changed its state.
        const job = jobs.find(seq);
        if (job !== undefined) jobs.end(job, "expired");
      }
      return { expired: ended.length, next: nextExpiry.get()?.at };
    }),
    shiftClock: write(({ byMs }) => {
      shiftDue.run(byMs);
      shiftExpiry.run(byMs);
      shiftKeys.run(byMs);
      shiftSubscriptions.run(byMs);
      shiftBacklog.run(byMs);
    }),
  } satisfies Partial<JobProcedures>;
}
