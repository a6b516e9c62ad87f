import { original } from "../../../items/adapters/file-thread/stored-text.ts";
import type { Database, Statement } from "../../../store/driver.ts";
import { read, type StoreTime } from "../../../store/procedures.ts";
import type { EndedState, FailedAttempt, JobState, JobView, Outcome, ReadyJob } from "./job.ts";
import {
  AFTER_A_DURATION,
  AT_AN_INSTANT,
  DEAD,
  DELAYED,
  DONE,
  JOB_COLUMNS,
  type JobRow,
  type JobTable,
  makerOfRow,
  READY,
  stateOf,
} from "./job-table.ts";
import type { JobProcedures, PeekInput } from "./queue-store.ts";

interface Listing {
  /** First page. Parameters: queue, limit, offset. */
  readonly all: Statement<JobRow>;
  /** Page after a job. Parameters: queue, at (only for delayed, dead and done jobs), seq, limit, offset. */
  readonly after: Statement<JobRow>;
}

export function openQueryProcedures(database: Database, jobs: JobTable, time: StoreTime) {
  function listing(condition: string, order: string, isBehind: string): Listing {
    const select = `SELECT ${JOB_COLUMNS} FROM jobs WHERE queue = ? AND ${condition}`;
    const page = `ORDER BY ${order} LIMIT ? OFFSET ?`;
    return { all: database.prepare(`${select} ${page}`), after: database.prepare(`${select} AND ${isBehind} ${page}`) };
  }
  const listings: Readonly<Record<Exclude<JobState, "delayed">, Listing>> = {
    waiting: listing("state < 2", "seq", "seq > ?"),
    active: listing("state = 3", "seq", "seq > ?"),
    dead: listing("state = 4", "failed_at DESC, seq DESC", "(failed_at, seq) < (?, ?)"),
    done: listing("state = 5", "expires_at DESC, seq DESC", "(expires_at, seq) < (?, ?)"),
  };
  // Two listings, because `due` is in the time of the log if the job has a delay, and on the wall clock if the job has
  // a `runAt`.
  const afterDelays = listing(`state = 2 AND timed = ${AFTER_A_DURATION}`, "due, seq", "(due, seq) > (?, ?)");
  const atInstants = listing(`state = 2 AND timed = ${AT_AN_INSTANT}`, "due, seq", "(due, seq) > (?, ?)");
  const ended = database.prepare<{ readonly queue: number; readonly ended: EndedState | null }>(
    "SELECT queue, ended FROM dedupe_keys WHERE job = ? LIMIT 1",
  );

  const firstWaiting = database.prepare<Pick<JobRow, "function" | "state" | "due">>(
    "SELECT function, state, due FROM jobs WHERE queue = ? AND state < 2 ORDER BY seq LIMIT 100",
  );

  function oldestReady(name: string): readonly ReadyJob[] {
    const queue = jobs.queues.find(name);
    const rows = queue === undefined ? [] : firstWaiting.all(queue.id);
    const ready = rows.filter(({ state }) => state === READY);
    return ready.map((row) => ({
      functionId: row.function === "" ? undefined : row.function,
      waitedMs: Math.max(0, time.now() - row.due),
    }));
  }

  const outcomeOf = database.prepare<{
    readonly ended_at: number;
    readonly duration_ms: number;
    readonly result: string | null;
  }>("SELECT ended_at, duration_ms, result FROM jobs WHERE seq = ? AND state = 5");

  function outcome(seq: number): Outcome | undefined {
    const row = outcomeOf.get(seq);
    if (row === undefined) return undefined;
    return { result: row.result ?? undefined, endedAt: row.ended_at, durationMs: row.duration_ms };
  }

  /** Returns how far the wall clock is ahead of the time of the log. */
  function skewMs(): number {
    return time.wall() - time.now();
  }

  /** Returns when a delayed job is due on the wall clock. */
  function wallDueOf({ due, timed }: JobRow): number {
    return timed === AT_AN_INSTANT ? due : due + skewMs();
  }

  /** Returns delayed jobs in the order in which they are due. */
  function delayedJobs(queue: number, { after, offset = 0, limit }: PeekInput): JobRow[] {
    const upTo = limit + offset;
    const page = ({ all, after: behind }: Listing, at: number): JobRow[] =>
      after === undefined ? all.all(queue, upTo, 0) : behind.all(queue, at, after.seq, upTo, 0);
    const at = after?.at ?? 0;
    const found = [...page(afterDelays, at - skewMs()), ...page(atInstants, at)];
    return found.sort((a, b) => wallDueOf(a) - wallDueOf(b) || a.seq - b.seq).slice(offset, upTo);
  }

  function pageOf(queue: number, input: PeekInput): JobRow[] {
    const { state, after, offset = 0, limit } = input;
    if (state === "delayed") return delayedJobs(queue, input);
    const { all, after: behind } = listings[state];
    if (after === undefined) return all.all(queue, limit, offset);
    if (state === "waiting" || state === "active") return behind.all(queue, after.seq, limit, offset);
    return behind.all(queue, state === "done" ? after.at - skewMs() : after.at, after.seq, limit, offset);
  }

  function view(job: JobRow): JobView {
    const state = stateOf(job.state);
    return {
      seq: job.seq,
      id: job.id,
      queue: jobs.queues.byId(job.queue).name,
      functionId: job.function === "" ? undefined : job.function,
      state,
      data: job.state === DONE ? undefined : jobs.data(job.seq),
      outcome: job.state === DONE ? outcome(job.seq) : undefined,
      bytes: job.bytes,
      attempts: job.attempts,
      maxAttempts: job.max_attempts,
      priority: job.priority,
      createdAt: job.created_at,
      runAt: job.state === DELAYED ? wallDueOf(job) : undefined,
      expiresAt: job.expires_at === null ? undefined : job.expires_at + skewMs(),
      group: textOf(job.grp),
      dedupeKey: textOf(job.dedupe),
      traceparent: job.traceparent ?? undefined,
      maker: makerOfRow(job),
      failedAt: job.state === DEAD ? (job.failed_at ?? undefined) : undefined,
      failures: jobs.failures(job.seq),
    };
  }

  function peek(input: PeekInput): readonly JobView[] {
    const { maxBytes } = input;
    const queue = jobs.queues.find(input.queue);
    if (queue === undefined) return [];
    const page: JobView[] = [];
    let bytes = 0;
    for (const row of pageOf(queue.id, input)) {
      bytes += row.bytes;
      if (page.length > 0 && bytes > maxBytes) break;
      const seen = view(row);
      // Count the failures too, because 20 failures with stacks may be much larger than the data.
      bytes += charactersIn(seen.failures) + (seen.outcome?.result?.length ?? 0);
      if (page.length > 0 && bytes > maxBytes) break;
      page.push(seen);
    }
    return page;
  }

  return {
    counts: read((_: null) => jobs.queues.names().map((name) => jobs.queues.counts(jobs.queues.open(name)))),
    countsOf: read((name: string) => {
      const queue = jobs.queues.find(name);
      return queue === undefined ? undefined : jobs.queues.counts(queue);
    }),
    oldestReady: read(oldestReady),
    peek: read(peek),
    job: read((id: string) => {
      const job = jobs.byId(id);
      if (job !== undefined) return view(job);
      const row = ended.get(id);
      return row === undefined || row.ended === null
        ? undefined
        : { queue: jobs.queues.byId(row.queue).name, ended: row.ended };
    }),
  } satisfies Partial<JobProcedures>;
}

function charactersIn(failures: readonly FailedAttempt[]): number {
  return failures.reduce((sum, { message, stack = "" }) => sum + message.length + stack.length, 0);
}

function textOf(text: string | null): string | undefined {
  return text === null ? undefined : original(text);
}
