import type { Database } from "../../../store/driver.ts";
import {
  type ProcedureTable,
  read,
  type StoreRuns,
  type StoreTime,
  type WriteBuffer,
  write,
} from "../../../store/procedures.ts";
import { endRange, type HandledTicks, rangeWith, type TickRange } from "./handled-ticks.ts";
import type {
  Adoption,
  Entry,
  NewEntry,
  Outcome,
  OwnerChange,
  Release,
  Retirement,
  Rewind,
  Run,
  StartOutcome,
  StoredJob,
  UndoneStart,
} from "./rows.ts";

/** Maximum history entries per job. */
const KEPT_RUNS = 100;
/** Maximum jobs deleted per call. */
const PURGE_JOBS = 1_000;

export const schema: readonly string[] = [
  `CREATE TABLE jobs (
     id TEXT PRIMARY KEY,
     function_id TEXT NOT NULL,
     config TEXT NOT NULL,
     decided_until INTEGER NOT NULL,
     paused INTEGER NOT NULL DEFAULT 0,
     retired INTEGER NOT NULL DEFAULT 0,
     seen_at INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX jobs_seen ON jobs (seen_at);
   CREATE TABLE runs (
     job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
     seq INTEGER NOT NULL,
     scheduled_at INTEGER NOT NULL,
     started_at INTEGER,
     finished_at INTEGER,
     outcome TEXT,
     error TEXT,
     manual INTEGER NOT NULL,
     passed_over INTEGER NOT NULL,
     engine TEXT NOT NULL,
     PRIMARY KEY (job, seq)
   ) WITHOUT ROWID`,
  // Earlier versions stored started ticks only in the history, so `start` also checks the history.
  `ALTER TABLE jobs ADD COLUMN handled_since INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE jobs ADD COLUMN handled TEXT NOT NULL DEFAULT '[]';
   UPDATE jobs SET handled_since = decided_until + 1`,
  // Earlier versions did not store the owner. Jobs that are not retired count as jobs of trusted workers, so that they
  // keep their missed ticks.
  `ALTER TABLE jobs ADD COLUMN trusted INTEGER NOT NULL DEFAULT 1;
   UPDATE jobs SET trusted = 0 WHERE retired = 1`,
  // Stores which engines of a cluster have triggers of a job.
  `CREATE TABLE holders (
     job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
     engine TEXT NOT NULL,
     PRIMARY KEY (job, engine)
   ) WITHOUT ROWID`,
];

const INTERRUPTED = "the engine stopped during the run; it is not known whether the function finished";

type JobRow = {
  readonly decided_until: number;
  readonly handled_since: number;
  /** JSON of ranges. */
  readonly handled: string;
  readonly paused: number;
  readonly retired: number;
};
type RunRow = {
  readonly seq: number;
  readonly scheduled_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  readonly outcome: Outcome | null;
  readonly error: string | null;
  readonly manual: number;
  readonly passed_over: number;
};
const COLUMNS = "seq, scheduled_at, started_at, finished_at, outcome, error, manual, passed_over";

/** The procedures of svc-cron's store. */
export function openProcedures(database: Database, _: (buffer: WriteBuffer) => void, time: StoreTime, runs: StoreRuns) {
  database.exec("PRAGMA foreign_keys=ON");
  const insertJob = database.prepare(
    `INSERT INTO jobs (id, function_id, config, decided_until, handled_since, seen_at, trusted) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, trusted = max(trusted, excluded.trusted)`,
  );
  const job = database.prepare<JobRow>(
    "SELECT decided_until, handled_since, handled, paused, retired FROM jobs WHERE id = ?",
  );
  const unretire = database.prepare("UPDATE jobs SET retired = 0 WHERE id = ?");
  const setHandled = database.prepare("UPDATE jobs SET handled_since = ?, handled = ? WHERE id = ?");
  const redecide = database.prepare("UPDATE jobs SET decided_until = ? WHERE id = ?");
  const own = database.prepare("UPDATE jobs SET trusted = ? WHERE id = ?");
  const retire = database.prepare(
    "UPDATE jobs SET retired = 1, trusted = 0, seen_at = ? WHERE id = ? AND trusted <= ?",
  );
  const decide = database.prepare("UPDATE jobs SET decided_until = max(decided_until, ?) WHERE id = ?");
  const undecide = database.prepare("UPDATE jobs SET decided_until = ? WHERE id = ? AND decided_until = ?");
  const deleteRun = database.prepare("DELETE FROM runs WHERE job = ? AND seq = ?");
  const setPaused = database.prepare(
    "UPDATE jobs SET paused = ?, decided_until = coalesce(?, decided_until) WHERE id = ?",
  );
  const touch = database.prepare("UPDATE jobs SET seen_at = ? WHERE id = ?");
  const old = database.prepare<{ readonly id: string }>(
    "SELECT id FROM jobs WHERE seen_at < ? ORDER BY seen_at LIMIT ?",
  );
  const deleteJob = database.prepare("DELETE FROM jobs WHERE id = ?");
  const unfinished = database.prepare<RunRow & { readonly engine: string }>(
    `SELECT ${COLUMNS}, engine FROM runs WHERE job = ? AND outcome IS NULL`,
  );
  const interrupt = database.prepare(
    "UPDATE runs SET finished_at = ?, outcome = 'error', error = ? WHERE job = ? AND seq = ?",
  );
  const claim = database.prepare("UPDATE runs SET engine = ? WHERE job = ? AND seq = ?");
  const latest = database.prepare<RunRow>(`SELECT ${COLUMNS} FROM runs WHERE job = ? ORDER BY seq DESC LIMIT ?`);
  const started = database.prepare(
    "SELECT 1 FROM runs WHERE job = ? AND scheduled_at = ? AND manual = 0 AND started_at IS NOT NULL",
  );
  const insertRun = database.prepare(
    `INSERT INTO runs (job, ${COLUMNS}, engine) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const finishRun = database.prepare(
    "UPDATE runs SET finished_at = ?, outcome = ?, error = ? WHERE job = ? AND seq = ?",
  );
  const addSkipped = database.prepare(
    "UPDATE runs SET scheduled_at = ?, finished_at = ?, passed_over = passed_over + ? WHERE job = ? AND seq = ?",
  );
  const hold = database.prepare("INSERT OR IGNORE INTO holders (job, engine) VALUES (?, ?)");
  const release = database.prepare("DELETE FROM holders WHERE job = ? AND engine = ?");
  const holders = database.prepare<{ readonly engine: string }>(
    "SELECT engine FROM holders WHERE job = ? ORDER BY engine",
  );
  const trim = database.prepare("DELETE FROM runs WHERE job = ? AND seq <= ?");

  function handle(id: string, { since, ranges }: HandledTicks): void {
    setHandled.run(since, JSON.stringify(ranges), id);
  }

  /** Adds a history entry with the next number of the job. */
  function add({ id, run, decidedUntil, handled }: NewEntry, engine: string): Run {
    if (decidedUntil !== undefined) decide.run(decidedUntil, id);
    if (handled !== undefined) handle(id, handled);
    const { scheduledAt, startedAt, finishedAt, outcome, error, manual, skippedCount } = run;
    const last = latest.get(id, 1);
    if (last !== undefined && startedAt === null && last.started_at === null && last.error === error) {
      addSkipped.run(scheduledAt, finishedAt, skippedCount, id, last.seq);
      return { ...run, seq: last.seq, skippedCount: last.passed_over + skippedCount };
    }
    const seq = (last?.seq ?? 0) + 1;
    insertRun.run(id, seq, scheduledAt, startedAt, finishedAt, outcome, error, manual ? 1 : 0, skippedCount, engine);
    trim.run(id, seq - KEPT_RUNS);
    return { ...run, seq };
  }

  /**
   * Returns the engines that are members and have triggers of the job. Deletes engines that are not members any more.
   */
  function holdersOf(id: string): readonly string[] {
    const found: string[] = [];
    for (const { engine } of holders.all(id)) {
      if (runs.isMember(engine)) found.push(engine);
      else release.run(id, engine);
    }
    return found;
  }

  /** Returns the unfinished runs of other engines that are members. */
  function runningElsewhere(id: string, engine: string): readonly RunRow[] {
    return unfinished.all(id).filter((row) => row.engine !== engine && runs.isMember(row.engine));
  }

  function adopt(
    { id, functionId, config, now, redeliverFrom, isTrusted }: Adoption,
    { engine, members, isShared }: RegisterInput,
  ): StoredJob {
    insertJob.run(id, functionId, config, now, now + 1, time.now(), isTrusted ? 1 : 0);
    const known = job.get(id);
    if (known?.retired === 1) {
      unretire.run(id);
      // Ticks that were due while the job was retired are not missed ticks, so they are not started later.
      if (now > known.decided_until) {
        handle(id, endRange(handledOf(known), known.decided_until, now + 1));
        redecide.run(now, id);
      }
    }
    const toRedeliver: Run[] = [];
    for (const row of unfinished.all(id)) {
      // `members` are the engine runs when the request was made, and `isMember` also knows engine runs that joined
      // later.
      if (members.includes(row.engine) || runs.isMember(row.engine)) continue;
      if (redeliverFrom === undefined || (row.started_at ?? 0) < redeliverFrom) {
        interrupt.run(now, INTERRUPTED, id, row.seq);
      } else {
        claim.run(engine, id, row.seq);
        toRedeliver.push(runOf(row));
      }
    }
    if (isShared) hold.run(id, engine);
    const stored = job.get(id);
    const last = latest.get(id, 1);
    return {
      holders: isShared ? holdersOf(id) : [],
      running: runningElsewhere(id, engine).map(({ seq }) => seq),
      decidedUntil: stored?.decided_until ?? now,
      handled: stored === undefined ? { since: now + 1, ranges: [] } : handledOf(stored),
      paused: stored?.paused === 1,
      lastRun: last === undefined ? undefined : runOf(last),
      toRedeliver,
    };
  }

  function mayStart(stored: JobRow, id: string, tick: number): boolean {
    if (stored.paused === 1 || stored.decided_until >= tick || started.get(id, tick) !== undefined) return false;
    return rangeWith(rangesOf(stored), tick) === undefined;
  }

  return {
    /**
     * Applies changes in order. Returns the stored job for adoptions, otherwise undefined. An adoption takes over the
     * unfinished job runs of engine runs that are not in `members`. The job runs of members continue.
     */
    register: write((input: RegisterInput) =>
      input.changes.map((change) => {
        if (change.kind === "adopt") return adopt(change, input);
        if (change.kind === "own") own.run(change.isTrusted ? 1 : 0, change.id);
        else if (change.kind === "retire" || change.kind === "release") {
          release.run(change.id, input.engine);
          // If another engine still has triggers of the job, the job is not retired.
          if (change.kind === "retire" && holdersOf(change.id).length === 0)
            retire.run(time.now(), change.id, change.isTrusted ? 1 : 0);
        } else {
          handle(change.id, change.handled);
          redecide.run(change.decidedUntil, change.id);
        }
        return undefined;
      }),
    ),
    /**
     * Stores the start of a tick or of a manual run, and gives it a number. Stores nothing in three cases: the tick was
     * already decided; the job is paused and the run is not manual; another engine runs the job and `mayOverlap` is
     * false.
     */
    start: write(
      ({
        entry,
        engine,
        mayOverlap,
      }: {
        readonly entry: NewEntry;
        readonly engine: string;
        readonly mayOverlap: boolean;
      }): StartOutcome => {
        const { id, run } = entry;
        const { scheduledAt } = run;
        const stored = job.get(id);
        if (stored === undefined || (!run.manual && !mayStart(stored, id, scheduledAt))) return { status: "decided" };
        if (!mayOverlap && runningElsewhere(id, engine).length > 0) return { status: "overlaps" };
        return { status: "started", run: add(entry, engine) };
      },
    ),
    /**
     * Undoes the start of a tick that was not delivered. Returns false, and changes nothing, if later ticks are
     * decided.
     */
    undoStart: write(({ id, seq, scheduledAt, decidedUntil }: UndoneStart): boolean => {
      if (undecide.run(decidedUntil, id, scheduledAt).changes === 0) return false;
      deleteRun.run(id, seq);
      return true;
    }),
    /**
     * Adds a history entry and returns it with its number, or undefined if there is no such job. Skipped ticks are
     * added to the latest entry if it has the same reason.
     */
    add: write(({ entry, engine }: { readonly entry: NewEntry; readonly engine: string }): Run | undefined =>
      job.get(entry.id) === undefined ? undefined : add(entry, engine),
    ),
    /** Stores how a run ended. */
    finish: write(({ id, run: { seq, finishedAt, outcome, error } }: Entry) => {
      finishRun.run(finishedAt, outcome, error, id, seq);
    }),
    /** Pauses or resumes a job. `decidedUntil` may be earlier than the stored time. */
    setPaused: write(({ id, paused, decidedUntil, handled }: PauseInput) => {
      setPaused.run(paused ? 1 : 0, decidedUntil, id);
      if (handled !== null) handle(id, handled);
    }),
    history: read(({ id, limit }: { readonly id: string; readonly limit: number }) => latest.all(id, limit).map(runOf)),
    /** Marks jobs as used. */
    touch: write(({ ids }: { readonly ids: readonly string[] }) => {
      for (const id of ids) touch.run(time.now(), id);
    }),
    /**
     * Deletes jobs that were not used for more than `unusedMs`, with their history, a limited number per call. Returns
     * their number, and whether there may be more.
     */
    purge: write(({ unusedMs }: { readonly unusedMs: number }) => {
      const ids = old.all(time.now() - unusedMs, PURGE_JOBS);
      for (const { id } of ids) deleteJob.run(id);
      return { jobs: ids.length, mayBeMore: ids.length === PURGE_JOBS };
    }),
  } satisfies ProcedureTable;
}

interface RegisterInput {
  readonly changes: readonly (Adoption | OwnerChange | Release | Retirement | Rewind)[];
  /** The engine run that makes the changes. */
  readonly engine: string;
  readonly members: readonly string[];
  /** True in a cluster. */
  readonly isShared: boolean;
}

interface PauseInput {
  readonly id: string;
  readonly paused: boolean;
  /** Null: unchanged. */
  readonly decidedUntil: number | null;
  readonly handled: HandledTicks | null;
}

export type CronProcedures = ReturnType<typeof openProcedures>;

function handledOf(row: JobRow): HandledTicks {
  return { since: row.handled_since, ranges: rangesOf(row) };
}

function rangesOf({ handled }: Pick<JobRow, "handled">): readonly TickRange[] {
  return handled === "[]" ? [] : (JSON.parse(handled) as TickRange[]);
}

function runOf(row: RunRow): Run {
  const { seq, scheduled_at, started_at, finished_at, outcome, error, manual, passed_over } = row;
  return {
    seq,
    scheduledAt: scheduled_at,
    startedAt: started_at,
    finishedAt: finished_at,
    outcome,
    error,
    manual: manual === 1,
    skippedCount: passed_over,
  };
}
