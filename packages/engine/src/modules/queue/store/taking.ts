import type { Database } from "../../../store/driver.ts";
import { write } from "../../../store/procedures.ts";
import type { TakenJob } from "./job.ts";
import { JOB_COLUMNS, type JobRow, type JobTable, makerOfRow, orUndefined, READY } from "./job-table.ts";
import type { JobProcedures, TakeInput, TakeOutput } from "./queue-store.ts";
import type { QueueRow } from "./queue-table.ts";

/** Delayed jobs that become ready in one call; the next call goes on. */
const DUE_AT_ONCE = 1_000;

/** Maximum functions at which one take looks for jobs of restricted principals, who choose how many there are; the next take continues after them. */
const RESTRICTED_FUNCTIONS_AT_ONCE = 100;

/** No further function is looked at once this many jobs of restricted principals were read. */
const RESTRICTED_ROWS_AT_ONCE = 2_000;

interface Candidates {
  readonly rows: readonly JobRow[];
  readonly restrictedAfter: string | undefined;
  readonly foundRestricted: boolean;
}

export function openTakeProcedures(database: Database, jobs: JobTable) {
  const due = database.prepare<JobRow>(`SELECT ${JOB_COLUMNS} FROM jobs WHERE queue = ? AND state = 2 AND due <= ? ORDER BY due, seq LIMIT ?`);
  const nextDue = database.prepare<{ readonly due: number }>("SELECT due FROM jobs WHERE queue = ? AND state = 2 ORDER BY due LIMIT 1");
  /** What trusted callers made and what restricted principals made stand in indexes of their own: however many there are of one, the others are found by a seek. */
  function line(principal: string) {
    const nextFunction = database.prepare<{ readonly function: string }>(
      `SELECT function FROM jobs WHERE queue = ? AND state = 0 AND principal ${principal} AND function > ? ORDER BY function LIMIT 1`,
    );
    const anyFunction = database.prepare<{ readonly function: string }>(
      `SELECT function FROM jobs WHERE queue = ? AND state = 0 AND principal ${principal} ORDER BY function LIMIT 1`,
    );
    const ready = database.prepare<JobRow>(
      `SELECT ${JOB_COLUMNS} FROM jobs WHERE queue = ? AND function = ? AND state = 0 AND principal ${principal} ORDER BY priority DESC, due, seq LIMIT ?`,
    );
    /** The functions that may have ready jobs, in order, each found by one seek. `after` undefined: from the first. */
    function* functionsOf(queue: number, { only }: TakeInput, after?: string): Generator<string> {
      if (only !== undefined) {
        yield* [...only].sort().filter((id) => after === undefined || id > after);
        return;
      }
      let row = after === undefined ? anyFunction.get(queue) : nextFunction.get(queue, after);
      for (; row !== undefined; row = nextFunction.get(queue, row.function)) yield row.function;
    }
    return {
      functionsOf,
      /** Of one function, in order. */
      ready: (queue: number, functionId: string, limit: number): JobRow[] => ready.all(queue, functionId, limit),
      hasReady: (queue: number): boolean => anyFunction.get(queue) !== undefined,
    };
  }
  const trusted = line("= ''");
  const restricted = line("<> ''");
  const lease = database.prepare("UPDATE jobs SET state = 3, lease_run = ?, lease_until = ? WHERE seq = ?");

  function candidates(queue: QueueRow, input: TakeInput): Candidates {
    const skipped = new Set(input.except);
    const lines: JobRow[][] = [];
    for (const id of trusted.functionsOf(queue.id, input)) if (!skipped.has(id)) lines.push(trusted.ready(queue.id, id, input.limit + 1));
    const ofRestricted = restrictedCandidates(queue, input, skipped);
    lines.push(...ofRestricted.lines);
    const { after: restrictedAfter, rows } = ofRestricted;
    const [first = [], ...others] = lines;
    const sorted = others.length === 0 ? first : lines.flat().sort((a, b) => b.priority - a.priority || a.due - b.due || a.seq - b.seq);
    return { rows: sorted, restrictedAfter, foundRestricted: rows > 0 };
  }

  function restrictedCandidates({ id: queue, restricted_depth }: QueueRow, input: TakeInput, skipped: ReadonlySet<string>) {
    const { limit, restrictedLimit, restrictedAfter } = input;
    const lines: JobRow[][] = [];
    let rows = 0;
    if (restrictedLimit === 0) return { lines, rows, after: restrictedAfter };
    let looked = 0;
    let after = restrictedAfter;
    for (const id of restricted_depth > 0 ? restricted.functionsOf(queue, input, restrictedAfter) : []) {
      if (looked === RESTRICTED_FUNCTIONS_AT_ONCE || rows >= RESTRICTED_ROWS_AT_ONCE) return { lines, rows, after };
      looked += 1;
      after = id;
      if (skipped.has(id)) continue;
      // One more than may run, to see whether jobs are held back.
      const found = restricted.ready(queue, id, Math.min(limit, restrictedLimit) + 1);
      rows += found.length;
      lines.push(found);
    }
    return { lines, rows, after: undefined };
  }

  function hasRestricted({ id, restricted_depth }: QueueRow): boolean {
    return restricted_depth > 0 && restricted.hasReady(id);
  }

  function take(input: TakeInput): TakeOutput {
    const queue = jobs.queues.find(input.queue);
    if (queue === undefined || queue.paused === 1) {
      return { jobs: [], more: false, isHeldBack: false, restrictedAfter: undefined, foundRestricted: false, nextDue: undefined };
    }
    const becameDue = due.all(queue.id, input.now, DUE_AT_ONCE);
    for (const job of becameDue) jobs.move(job, READY);
    const { more, ...output } = takeReady(queue, input);
    return { ...output, more: more || becameDue.length === DUE_AT_ONCE, nextDue: nextDue.get(queue.id)?.due };
  }

  function takeReady(queue: QueueRow, input: TakeInput): Omit<TakeOutput, "nextDue"> {
    const { limit, restrictedLimit, now } = input;
    const { rows: found, restrictedAfter, foundRestricted } = candidates(queue, input);
    const taken: TakenJob[] = [];
    let bytes = 0;
    let seen = 0;
    let ofRestricted = 0;
    let heldBack = 0;
    for (const job of found) {
      if (taken.length === limit || (taken.length > 0 && bytes + job.bytes > input.maxBytes)) break;
      if (job.principal !== "" && ofRestricted === restrictedLimit) {
        heldBack += 1;
        continue;
      }
      seen += 1;
      if (job.expires_at !== null && job.expires_at <= now) {
        jobs.end(job, "expired");
        continue;
      }
      bytes += job.bytes;
      if (job.principal !== "") ofRestricted += 1;
      take1(job, queue, input);
      taken.push(takenJob(job, queue, jobs.data(job.seq)));
    }
    const mayHaveUnseen = restrictedLimit === 0 ? hasRestricted(queue) : restrictedAfter !== undefined;
    const isFull = ofRestricted === restrictedLimit;
    const isHeldBack = heldBack > 0 || (mayHaveUnseen && isFull);
    const more = seen + heldBack < found.length || taken.length < seen || (mayHaveUnseen && !isFull);
    return { jobs: taken, more, isHeldBack, restrictedAfter, foundRestricted };
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
    maker: makerOfRow(job),
    provider: orUndefined(job.provider),
  };
}
