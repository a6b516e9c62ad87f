import type { Database } from "../../../store/driver.ts";
import { write } from "../../../store/procedures.ts";
import type { TakenJob } from "./job.ts";
import { JOB_COLUMNS, type JobRow, type JobTable, READY } from "./job-table.ts";
import type { JobProcedures, TakeInput, TakeOutput } from "./queue-store.ts";
import type { QueueRow } from "./queue-table.ts";

/** Delayed jobs that become ready in one call; the next call goes on. */
const DUE_AT_ONCE = 1_000;

export function openTakeProcedures(database: Database, jobs: JobTable) {
  const due = database.prepare<JobRow>(`SELECT ${JOB_COLUMNS} FROM jobs WHERE queue = ? AND state = 2 AND due <= ? ORDER BY due, seq LIMIT ?`);
  const nextDue = database.prepare<{ readonly due: number }>("SELECT due FROM jobs WHERE queue = ? AND state = 2 ORDER BY due LIMIT 1");
  const nextFunction = database.prepare<{ readonly function: string }>(
    "SELECT function FROM jobs WHERE queue = ? AND state = 0 AND function > ? ORDER BY function LIMIT 1",
  );
  const anyFunction = database.prepare<{ readonly function: string }>("SELECT function FROM jobs WHERE queue = ? AND state = 0 ORDER BY function LIMIT 1");
  const ready = database.prepare<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs WHERE queue = ? AND function = ? AND state = 0 ORDER BY priority DESC, due, seq LIMIT ?`,
  );
  const lease = database.prepare("UPDATE jobs SET state = 3, lease_run = ?, lease_until = ? WHERE seq = ?");

  /** The functions that have ready jobs, each found by one seek. */
  function readyFunctions(queue: number, skipped: ReadonlySet<string>): string[] {
    const found: string[] = [];
    for (let row = anyFunction.get(queue); row !== undefined; row = nextFunction.get(queue, row.function)) {
      if (!skipped.has(row.function)) found.push(row.function);
    }
    return found;
  }

  function candidates(queue: number, { except, only }: TakeInput, limit: number): JobRow[] {
    const skipped = new Set(except);
    const functions = only === undefined ? readyFunctions(queue, skipped) : only.filter((id) => !skipped.has(id));
    const found = functions.flatMap((id) => ready.all(queue, id, limit));
    if (functions.length > 1) found.sort((a, b) => b.priority - a.priority || a.due - b.due || a.seq - b.seq);
    return found;
  }

  function take(input: TakeInput): TakeOutput {
    const queue = jobs.queues.find(input.queue);
    if (queue === undefined || queue.paused === 1) return { jobs: [], more: false, nextDue: undefined };
    const { limit, now } = input;
    const becameDue = due.all(queue.id, now, DUE_AT_ONCE);
    for (const job of becameDue) jobs.move(job, READY);
    const found = candidates(queue.id, input, limit + 1);
    const taken: TakenJob[] = [];
    let bytes = 0;
    let seen = 0;
    for (const job of found) {
      if (taken.length === limit || (taken.length > 0 && bytes + job.bytes > input.maxBytes)) break;
      seen += 1;
      if (job.expires_at !== null && job.expires_at <= now) {
        jobs.end(job, "expired");
        continue;
      }
      bytes += job.bytes;
      take1(job, queue, input);
      taken.push(takenJob(job, queue, jobs.data(job.seq)));
    }
    const more = seen < found.length || becameDue.length === DUE_AT_ONCE || taken.length < seen;
    return { jobs: taken, more, nextDue: nextDue.get(queue.id)?.due };
  }

  function take1(job: JobRow, queue: QueueRow, { run, leaseUntil }: TakeInput): void {
    lease.run(run, leaseUntil, job.seq);
    queue.waiting -= 1;
    queue.active += 1;
    jobs.queues.changed(queue);
  }

  return { take: write(take) } satisfies Pick<JobProcedures, "take">;
}

function takenJob(job: JobRow, queue: QueueRow, data: string): TakenJob {
  const { seq, id, attempts } = job;
  return {
    seq,
    id,
    queue: queue.name,
    functionId: job.function === "" ? undefined : job.function,
    data,
    attempts,
    maxAttempts: job.max_attempts,
    createdAt: job.created_at,
    group: job.grp ?? undefined,
    traceparent: job.traceparent ?? undefined,
    baggage: job.baggage ?? undefined,
  };
}
