import type { Database } from "../../../store/driver.ts";
import { read, type StoreTime, write } from "../../../store/procedures.ts";
import type { AddJob } from "./add-job.ts";
import type { LeasedJob, NewJob } from "./job.ts";
import {
  AFTER_A_DURATION,
  AT_AN_INSTANT,
  AT_ONCE,
  JOB_COLUMNS,
  type JobRow,
  type JobTable,
  makerOfRow,
  orUndefined,
  READY,
} from "./job-table.ts";
import type {
  AddAndTakeInput,
  AddAndTakeOutput,
  HasJobsOutput,
  JobProcedures,
  TakeInput,
  TakeOutput,
} from "./queue-store.ts";
import type { QueueRow } from "./queue-table.ts";

/** Maximum delayed jobs made ready per call. The next call continues. */
const MAX_DUE = 1_000;

/**
 * Maximum number of functions in which one take searches for jobs of restricted principals. There is a limit because
 * these principals control the number of functions that have jobs. The next take continues after these functions.
 */
const MAX_RESTRICTED_FUNCTIONS = 100;

/** A take stops its search when it has read this many jobs of restricted principals. The next take continues. */
const MAX_RESTRICTED_ROWS = 2_000;

interface Candidates {
  readonly rows: readonly JobRow[];
  readonly restrictedAfter: string | undefined;
  readonly foundRestricted: boolean;
}

export function openTakeProcedures(database: Database, jobs: JobTable, time: StoreTime, add: AddJob) {
  const due = database.prepare<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs WHERE queue = ? AND state = 2 AND timed = ? AND due <= ? ORDER BY due, seq LIMIT ?`,
  );
  const nextDue = database.prepare<{ readonly due: number }>(
    "SELECT due FROM jobs WHERE queue = ? AND state = 2 AND timed = ? ORDER BY due LIMIT 1",
  );

  /** Makes due jobs ready. Returns false if there may be more due jobs. */
  function makeDueReady(queue: QueueRow): boolean {
    if (queue.delayed === 0) return true;
    const delayed = due.all(queue.id, AFTER_A_DURATION, time.now(), MAX_DUE);
    for (const job of delayed) jobs.move(job, READY);
    const atInstants = due.all(queue.id, AT_AN_INSTANT, time.wall(), MAX_DUE);
    // Ready jobs are sorted by the log's time, so the wall-clock time is converted.
    for (const job of atInstants) {
      const waited = time.wall() - job.due;
      jobs.move(job, READY, { due: time.now() - waited, timed: AT_ONCE });
    }
    return delayed.length < MAX_DUE && atInstants.length < MAX_DUE;
  }

  function nextDueMs({ id, delayed }: QueueRow): number | undefined {
    if (delayed === 0) return undefined;
    const delay = nextDue.get(id, AFTER_A_DURATION);
    const instant = nextDue.get(id, AT_AN_INSTANT);
    if (delay === undefined && instant === undefined) return undefined;
    const ofDelay = delay === undefined ? Number.POSITIVE_INFINITY : delay.due - time.now();
    const ofInstant = instant === undefined ? Number.POSITIVE_INFINITY : instant.due - time.wall();
    return Math.max(0, Math.min(ofDelay, ofInstant));
  }

  /**
   * Returns the queries for ready jobs of trusted callers, or of restricted principals. Each of the two kinds has its
   * own index, so a query for one kind does not scan jobs of the other.
   */
  function readyQueries(principal: string) {
    const nextFunction = database.prepare<{ readonly function: string }>(
      `SELECT function FROM jobs WHERE queue = ? AND state = 0 AND principal ${principal} AND function > ? ORDER BY function LIMIT 1`,
    );
    const anyFunction = database.prepare<{ readonly function: string }>(
      `SELECT function FROM jobs WHERE queue = ? AND state = 0 AND principal ${principal} ORDER BY function LIMIT 1`,
    );
    const ready = database.prepare<JobRow>(
      `SELECT ${JOB_COLUMNS} FROM jobs WHERE queue = ? AND function = ? AND state = 0 AND principal ${principal} ORDER BY priority DESC, due, seq LIMIT ?`,
    );
    /**
     * Yields the functions that may have ready jobs, sorted by id, with one index lookup for each. Starts after the
     * function `after`, or at the first function if `after` is undefined.
     */
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
      /** Returns ready jobs of one function, in order. */
      ready: (queue: number, functionId: string, limit: number): JobRow[] => ready.all(queue, functionId, limit),
      hasReady: (queue: number): boolean => anyFunction.get(queue) !== undefined,
    };
  }
  const trusted = readyQueries("= ''");
  const restricted = readyQueries("<> ''");
  const lease = database.prepare("UPDATE jobs SET state = 3, lease_run = ?, lease_take = ? WHERE seq = ?");

  function candidates(queue: QueueRow, input: TakeInput): Candidates {
    const skipped = new Set(input.except);
    const lists: JobRow[][] = [];
    for (const id of trusted.functionsOf(queue.id, input))
      if (!skipped.has(id)) lists.push(trusted.ready(queue.id, id, input.limit + 1));
    const ofRestricted = restrictedCandidates(queue, input, skipped);
    lists.push(...ofRestricted.lists);
    const { after: restrictedAfter, rows } = ofRestricted;
    const [first = [], ...others] = lists;
    const sorted = others.length === 0 ? first : lists.flat().sort(inOrder);
    return { rows: sorted, restrictedAfter, foundRestricted: rows > 0 };
  }

  function restrictedCandidates(
    { id: queue, restricted_depth }: QueueRow,
    input: TakeInput,
    skipped: ReadonlySet<string>,
  ) {
    const { limit, restrictedLimit, restrictedAfter } = input;
    const lists: JobRow[][] = [];
    let rows = 0;
    if (restrictedLimit === 0) return { lists, rows, after: restrictedAfter };
    let searched = 0;
    let after = restrictedAfter;
    for (const id of restricted_depth > 0 ? restricted.functionsOf(queue, input, restrictedAfter) : []) {
      if (searched === MAX_RESTRICTED_FUNCTIONS || rows >= MAX_RESTRICTED_ROWS) return { lists, rows, after };
      searched += 1;
      after = id;
      if (skipped.has(id)) continue;
      // Reads one job more than may run, to detect whether jobs are held back.
      const found = restricted.ready(queue, id, Math.min(limit, restrictedLimit) + 1);
      rows += found.length;
      lists.push(found);
    }
    return { lists, rows, after: undefined };
  }

  function hasRestricted({ id, restricted_depth }: QueueRow): boolean {
    return restricted_depth > 0 && restricted.hasReady(id);
  }

  function take(input: TakeInput): TakeOutput {
    const queue = jobs.queues.find(input.queue);
    if (queue === undefined || queue.paused === 1) return nothing();
    const isComplete = makeDueReady(queue);
    const { more, ...output } = takeReady(queue, input);
    return { ...output, more: more || !isComplete, nextDueMs: nextDueMs(queue) };
  }

  function addAndTake({ jobs: added, take: input }: AddAndTakeInput): AddAndTakeOutput {
    const queue = jobs.queues.find(input.queue);
    if (queue === undefined || !takesAll(added, queue, input))
      return { added: added.map((job) => add(job)), taken: take(input) };
    const taken: { readonly job: JobRow; readonly data: string }[] = [];
    const lease = {
      run: input.run,
      take: input.take,
      onLeased: (job: JobRow, data: string) => taken.push({ job, data }),
    };
    const outputs = added.map((job) => add(job, lease));
    return {
      added: outputs,
      taken: {
        ...nothing(),
        jobs: taken.sort((a, b) => inOrder(a.job, b.job)).map(({ job, data }) => leasedJob(job, queue, data)),
        nextDueMs: nextDueMs(queue),
      },
    };
  }

  /** Returns true only if a take right after adding these jobs certainly returns all of them and no other job. */
  function takesAll(added: readonly NewJob[], queue: QueueRow, { limit, maxBytes, except, only }: TakeInput): boolean {
    // The take could return other jobs that are ready or due instead of the added jobs.
    if (queue.paused === 1 || queue.waiting > 0 || queue.restricted_depth > 0 || isDue(queue)) return false;
    const bytes = added.reduce((sum, job) => sum + job.bytes, 0);
    if (added.length > limit || (added.length > 1 && bytes > maxBytes)) return false;
    return added.every(({ functionId = "", ...job }) => {
      const isReady = !job.delayMs && job.runAt === undefined && job.group === undefined && job.expiresInMs !== 0;
      return isReady && job.maker === undefined && !except.includes(functionId) && (only?.includes(functionId) ?? true);
    });
  }

  function isDue({ id, delayed }: QueueRow): boolean {
    return (
      delayed > 0 &&
      (due.get(id, AFTER_A_DURATION, time.now(), 1) !== undefined ||
        due.get(id, AT_AN_INSTANT, time.wall(), 1) !== undefined)
    );
  }

  function takeReady(queue: QueueRow, input: TakeInput): Omit<TakeOutput, "nextDueMs"> {
    const { limit, restrictedLimit } = input;
    const now = time.now();
    const { rows: found, restrictedAfter, foundRestricted } = candidates(queue, input);
    const taken: LeasedJob[] = [];
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
      leaseOne(job, queue, input);
      taken.push(leasedJob(job, queue, jobs.data(job.seq)));
    }
    const mayHaveUnseen = restrictedLimit === 0 ? hasRestricted(queue) : restrictedAfter !== undefined;
    const isFull = ofRestricted === restrictedLimit;
    const isHeldBack = heldBack > 0 || (mayHaveUnseen && isFull);
    const more = seen + heldBack < found.length || taken.length < seen || (mayHaveUnseen && !isFull);
    return { jobs: taken, more, isHeldBack, restrictedAfter, foundRestricted };
  }

  function leaseOne(job: JobRow, queue: QueueRow, { run, take }: TakeInput): void {
    lease.run(run, take, job.seq);
    queue.waiting -= 1;
    queue.active += 1;
    jobs.queues.changed(queue);
  }

  /**
   * Returns whether a take may find jobs, without changing anything. May return true although no job of a restricted
   * principal can be taken, but never misses a job.
   */
  function hasJobs(input: TakeInput): HasJobsOutput {
    const queue = jobs.queues.find(input.queue);
    if (queue === undefined || queue.paused === 1) return { hasJobs: false, nextDueMs: undefined };
    const found =
      isDue(queue) || queue.restricted_depth > 0 || candidates(queue, { ...input, limit: 0 }).rows.length > 0;
    return { hasJobs: found, nextDueMs: nextDueMs(queue) };
  }

  return {
    addAndTake: write(addAndTake),
    take: write(take),
    hasJobs: read(hasJobs),
  } satisfies Pick<JobProcedures, "addAndTake" | "take" | "hasJobs">;
}

function nothing(): TakeOutput {
  return {
    jobs: [],
    more: false,
    isHeldBack: false,
    restrictedAfter: undefined,
    foundRestricted: false,
    nextDueMs: undefined,
  };
}

/** The order in which ready jobs are taken. */
function inOrder(a: JobRow, b: JobRow): number {
  return b.priority - a.priority || a.due - b.due || a.seq - b.seq;
}

function leasedJob(job: JobRow, queue: QueueRow, data: string): LeasedJob {
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
