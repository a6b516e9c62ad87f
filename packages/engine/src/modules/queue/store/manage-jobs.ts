import type { Database } from "../../../store/driver.ts";
import { Refusal, type StoreTime, write } from "../../../store/procedures.ts";
import { ACTIVE, AT_ONCE, DEAD, JOB_COLUMNS, type JobRow, type JobTable, orNull, stateOf } from "./job-table.ts";
import type { JobProcedures, RedriveInput } from "./queue-store.ts";
import { beyondShare } from "./share-limits.ts";
import { storedPrincipal } from "./share-table.ts";

export function openManageProcedures(database: Database, jobs: JobTable, time: StoreTime) {
  // The newest first: deleting the oldest job of a group would first unblock the next job, only to delete it as well.
  const waiting = database.prepare<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs WHERE queue = ? AND state < 2 ORDER BY seq DESC LIMIT ?`,
  );
  const delayed = database.prepare<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs WHERE queue = ? AND state = 2 ORDER BY due DESC LIMIT ?`,
  );
  const dead = database.prepare<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs WHERE queue = ? AND state = 4 ORDER BY failed_at, seq LIMIT ?`,
  );
  const moveFailures = database.prepare("UPDATE failures SET job = ? WHERE job = ?");

  function deadLettersOf(name: string, ids: readonly string[] | undefined, limit: number): JobRow[] {
    const queue = jobs.queues.find(name);
    if (ids === undefined) return queue === undefined ? [] : dead.all(queue.id, limit);
    return [...new Set(ids)].map((id) => {
      const job = jobs.byId(id);
      if (job === undefined || job.state !== DEAD || job.queue !== queue?.id) {
        const problem = `queue ${name} has no dead letter ${id}; nothing was changed`;
        throw new Refusal("job_not_found", problem, { queue: name, job_id: id });
      }
      return job;
    });
  }

  function refuseBeyondBytes(
    name: string,
    letters: readonly JobRow[],
    { bytes, maxBytes }: { readonly bytes: number; readonly maxBytes: number },
  ): void {
    const more = letters.reduce((sum, job) => sum + bytes - job.bytes, 0);
    const held = jobs.queues.find(name)?.bytes ?? 0;
    if (more <= 0 || held + more <= maxBytes) return;
    const problem = `queue ${name} holds ${held} bytes of data; ${more} more exceed its limit of ${maxBytes} (max_bytes)`;
    throw new Refusal("queue_full", problem, { queue: name, bytes: held, max_bytes: maxBytes });
  }

  /**
   * Returns a dead letter to its queue. The caller becomes its maker: the job counts in the caller's share and belongs
   * to the caller's groups.
   */
  function redriveOne(
    job: JobRow,
    { payload, functions, maker, limits }: Omit<RedriveInput, "queue" | "ids" | "limit">,
  ): void {
    const { data, bytes } = payload ?? { data: jobs.data(job.seq), bytes: job.bytes };
    const queue = jobs.queues.byId(job.queue);
    queue.last_due = Math.max(time.now(), queue.last_due);
    // The job is deleted and inserted again: it gets a new position and keeps its failures.
    jobs.removeButFailures(job);
    const problem =
      maker === undefined ? undefined : beyondShare(queue, maker, { bytes, limits, isRedrive: true }, jobs.queues);
    if (problem !== undefined) throw problem;
    const principal = storedPrincipal(maker?.principal);
    const role = orNull(maker?.role);
    const provider = orNull(functions?.find(({ functionId }) => functionId === job.function)?.provider);
    const seq = jobs.put(
      { ...job, principal, role, provider, bytes, due: queue.last_due, timed: AT_ONCE, expires_at: null, attempts: 0 },
      data,
    );
    moveFailures.run(seq, job.seq);
  }

  return {
    cancel: write(({ id }) => {
      const job = jobs.byId(id);
      if (job === undefined) return undefined;
      const unblocked = job.state < ACTIVE && jobs.end(job, "cancelled");
      return { queue: jobs.queues.byId(job.queue).name, state: stateOf(job.state), seq: job.seq, unblocked };
    }),
    setPaused: write(({ queue, paused }) => {
      const row = jobs.queues.open(queue);
      row.paused = paused ? 1 : 0;
      jobs.queues.changed(row);
    }),
    purge: write(({ queue: name, limit }) => {
      const queue = jobs.queues.find(name);
      if (queue === undefined) return 0;
      const found = waiting.all(queue.id, limit);
      found.push(...delayed.all(queue.id, limit - found.length));
      for (const job of found) jobs.end(jobs.find(job.seq) ?? job, "cancelled");
      return found.length;
    }),
    redrive: write((input) => {
      const { queue, ids, payload, functions, limit } = input;
      const letters = deadLettersOf(queue, ids, limit);
      const other =
        functions === undefined
          ? undefined
          : letters.find((job) => !functions.some(({ functionId }) => functionId === job.function));
      if (other !== undefined) return { functionId: other.function };
      if (payload !== undefined) refuseBeyondBytes(queue, letters, payload);
      for (const job of letters) redriveOne(job, input);
      return letters.length;
    }),
    discard: write(({ queue, ids, limit }) => {
      const letters = deadLettersOf(queue, ids, limit);
      for (const job of letters) jobs.remove(job);
      return letters.length;
    }),
  } satisfies Partial<JobProcedures>;
}
