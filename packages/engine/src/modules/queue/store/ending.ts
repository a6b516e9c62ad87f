import type { Database } from "../../../store/driver.ts";
import { write } from "../../../store/procedures.ts";
import { ACTIVE, AFTER_A_DURATION, DEAD, DELAYED, JOB_COLUMNS, type JobRow, type JobTable, READY } from "./job-table.ts";
import type { EndOutput, JobProcedures } from "./queue-store.ts";

/** Jobs that end for their time in one call; the next call goes on. */
const EXPIRED_AT_ONCE = 1_000;

export function openEndProcedures(database: Database, jobs: JobTable) {
  const leased = database.prepare<JobRow & { readonly lease_run: string; readonly lease_until: number }>(
    `SELECT ${JOB_COLUMNS}, lease_run, lease_until FROM jobs WHERE queue = ? AND state = 3`,
  );
  const extend = database.prepare("UPDATE jobs SET lease_until = ? WHERE seq = ? AND state = 3 AND lease_run = ?");
  const cutDelays = database.prepare("UPDATE jobs SET due = ?1 WHERE queue = ?2 AND state = 2 AND due > ?1 AND timed = 1 AND attempts > 0");
  const endNever = database.prepare("UPDATE jobs SET expires_at = NULL WHERE seq = ?");
  const ending = database.prepare<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs WHERE expires_at <= ? AND expires_at IS NOT NULL AND state < 3 ORDER BY expires_at LIMIT ?`,
  );
  const nextEnd = database.prepare<{ readonly at: number }>(
    "SELECT expires_at AS at FROM jobs WHERE expires_at IS NOT NULL AND state < 3 ORDER BY expires_at LIMIT 1",
  );
  const shiftDue = database.prepare("UPDATE jobs SET due = due + ? WHERE state IN (1, 2) AND timed = 1");
  const shiftEnds = database.prepare("UPDATE jobs SET expires_at = expires_at + ? WHERE expires_at IS NOT NULL");
  const shiftKeys = database.prepare("UPDATE dedupe_keys SET expires_at = expires_at + ?");

  const shiftSubscriptions = database.prepare("UPDATE subscriptions SET seen_at = seen_at + ?");
  const shiftBacklog = database.prepare("UPDATE backlog SET at = at + ?");

  /** What somebody else ended meanwhile is not ended again. */
  function inHand(seq: number, change: (job: JobRow) => boolean): EndOutput {
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
    done: write(({ seq }) => inHand(seq, (job) => jobs.end(job, "done"))),
    drop: write(({ seq }) => inHand(seq, (job) => jobs.end(job, "cancelled"))),
    retry: write(({ seq, failure, runAt }) =>
      inHand(seq, (job) => {
        jobs.fail(job, failure);
        // It was begun in its time; from now on it ends done or dead.
        if (job.expires_at !== null) endNever.run(job.seq);
        jobs.move(job, DELAYED, { due: runAt, timed: AFTER_A_DURATION, attempts: job.attempts + 1 });
        return false;
      }),
    ),
    release: write(({ seq }) =>
      inHand(seq, (job) => {
        jobs.move(job, READY);
        return false;
      }),
    ),
    bury: write(({ seq, failure }) =>
      inHand(seq, (job) => {
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
      const ended = ending.all(now, EXPIRED_AT_ONCE);
      for (const { seq } of ended) {
        // One of them may have unblocked another, whose state is another now.
        const job = jobs.find(seq);
        if (job !== undefined) jobs.end(job, "expired");
      }
      return { expired: ended.length, next: nextEnd.get()?.at };
    }),
    shift: write(({ byMs }) => {
      shiftDue.run(byMs);
      shiftEnds.run(byMs);
      shiftKeys.run(byMs);
      shiftSubscriptions.run(byMs);
      shiftBacklog.run(byMs);
    }),
  } satisfies Partial<JobProcedures>;
}
