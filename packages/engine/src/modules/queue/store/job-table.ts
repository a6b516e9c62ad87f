import { original, stored } from "../../../items/adapters/file-thread/stored-text.ts";
import type { Database, Statement } from "../../../store/driver.ts";
import { Refusal } from "../../../store/procedures.ts";
import type { EndedState, FailedAttempt, JobState, Maker, Outcome } from "./job.ts";
import type { LeaseInput } from "./queue-store.ts";
import type { QueueTable } from "./queue-table.ts";

/** Values of `jobs.state`. */
export const READY = 0;
export const BLOCKED = 1;
export const DELAYED = 2;
export const ACTIVE = 3;
export const DEAD = 4;
export const DONE = 5;

/** Values of `jobs.timed`: how `due` was chosen. */
export const AT_ONCE = 0;
export const AFTER_A_DURATION = 1;
export const AT_AN_INSTANT = 2;

/** Maximum failures stored per job. */
const MAX_FAILURES = 20;

export type JobRow = {
  readonly seq: number;
  readonly id: string;
  readonly queue: number;
  readonly function: string;
  readonly state: number;
  readonly priority: number;
  readonly due: number;
  readonly timed: number;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly failed_at: number | null;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly bytes: number;
  readonly grp: string | null;
  readonly dedupe: string | null;
  readonly traceparent: string | null;
  readonly baggage: string | null;
  /** Empty for a trusted caller. */
  readonly principal: string;
  readonly role: string | null;
  readonly provider: string | null;
};

export const JOB_COLUMNS =
  "seq, id, queue, function, state, priority, due, timed, created_at, expires_at, failed_at, attempts, max_attempts, bytes, grp, dedupe, traceparent, baggage, principal, role, provider";
/** `seq` is assigned by SQLite. */
const INSERTED_COLUMNS = [...JOB_COLUMNS.split(", ").slice(1), "lease_run", "lease_take"];

/** The run that has an active job, and the take by which it got the job. */
export interface Lease {
  readonly run: string;
  readonly take: number;
}

export function stateOf(state: number): JobState {
  if (state === DELAYED) return "delayed";
  if (state === ACTIVE) return "active";
  if (state === DONE) return "done";
  return state === DEAD ? "dead" : "waiting";
}

/**
 * Changes jobs and their counts. All procedures change the state of jobs by this class, so that the counts are right.
 */
export class JobTable {
  readonly queues: QueueTable;
  readonly #bySeq: Statement<JobRow>;
  readonly #byId: Statement<JobRow>;
  readonly #leased: Statement<JobRow>;
  readonly #insert: Statement;
  readonly #insertBody: Statement;
  readonly #setState: Statement;
  readonly #delete: Statement;
  readonly #deleteBody: Statement;
  readonly #setDone: Statement;
  readonly #deleteFailures: Statement;
  readonly #trimFailures: Statement;
  readonly #insertFailure: Statement;
  readonly #failures: Statement;
  readonly #body: Statement<{ readonly data: string }>;
  readonly #endDedupe: Statement;
  readonly #firstOfGroup: Statement<JobRow>;

  constructor(database: Database, queues: QueueTable) {
    this.queues = queues;
    this.#bySeq = database.prepare(`SELECT ${JOB_COLUMNS} FROM jobs WHERE seq = ?`);
    this.#byId = database.prepare(`SELECT ${JOB_COLUMNS} FROM jobs WHERE id = ?`);
    this.#leased = database.prepare(
      `SELECT ${JOB_COLUMNS} FROM jobs WHERE seq = ? AND state = ${ACTIVE} AND lease_run = ?`,
    );
    this.#insert = database.prepare(
      `INSERT INTO jobs (${INSERTED_COLUMNS.join(", ")}) VALUES (${INSERTED_COLUMNS.map(() => "?").join(", ")})`,
    );
    this.#insertBody = database.prepare("INSERT INTO bodies (seq, data) VALUES (?, ?)");
    this.#setState = database.prepare(
      "UPDATE jobs SET state = ?, due = ?, timed = ?, attempts = ?, failed_at = ?, lease_run = NULL WHERE seq = ?",
    );
    this.#delete = database.prepare("DELETE FROM jobs WHERE seq = ?");
    this.#deleteBody = database.prepare("DELETE FROM bodies WHERE seq = ?");
    this.#setDone = database.prepare(
      `UPDATE jobs SET state = ${DONE}, ended_at = ?, duration_ms = ?, result = ?, expires_at = ?, lease_run = NULL WHERE seq = ?`,
    );
    this.#deleteFailures = database.prepare("DELETE FROM failures WHERE job = ?");
    this.#trimFailures = database.prepare(
      "DELETE FROM failures WHERE id IN (SELECT id FROM failures WHERE job = ? ORDER BY id DESC LIMIT -1 OFFSET ?)",
    );
    this.#insertFailure = database.prepare(
      "INSERT INTO failures (job, attempt, at, code, message, stack, worker, trace) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    );
    this.#failures = database.prepare(
      "SELECT attempt, at, code, message, stack, worker, trace FROM failures WHERE job = ? ORDER BY id",
    );
    this.#body = database.prepare("SELECT data FROM bodies WHERE seq = ?");
    this.#endDedupe = database.prepare("UPDATE dedupe_keys SET ended = ? WHERE job = ?");
    // Groups are separate for each principal. Otherwise a hanging job of one principal would block jobs of another.
    this.#firstOfGroup = database.prepare(
      `SELECT ${JOB_COLUMNS} FROM jobs WHERE queue = ? AND principal = ? AND grp = ? AND grp IS NOT NULL AND state < 4 ORDER BY seq LIMIT 1`,
    );
  }

  find(seq: number): JobRow | undefined {
    return this.#bySeq.get(seq);
  }

  byId(id: string): JobRow | undefined {
    return this.#byId.get(id);
  }

  /** Returns a job that the run leases. Throws Refusal `lease_lost`. */
  leased({ seq, run }: LeaseInput): JobRow {
    const job = this.#leased.get(seq, run);
    if (job !== undefined) return job;
    throw new Refusal(
      "lease_lost",
      "this run of the engine no longer has the job: it has ended, or another run has it",
    );
  }

  data(seq: number): string {
    return this.#body.get(seq)?.data ?? "null";
  }

  /**
   * Inserts a job and returns its `seq`. With a lease, the job is active. Without a lease, its state follows from its
   * time and its group.
   */
  put(job: Omit<JobRow, "seq" | "state">, data: string, lease?: Lease): number {
    const state = lease === undefined ? this.#stateOfNew(job) : ACTIVE;
    const {
      id,
      queue,
      priority,
      due,
      timed,
      created_at,
      expires_at,
      failed_at,
      attempts,
      max_attempts,
      bytes,
      grp,
      dedupe,
      traceparent,
      baggage,
      principal,
    } = job;
    // In the order of INSERTED_COLUMNS.
    const values = [id, queue, job.function, state, priority, due, timed, created_at, expires_at, failed_at];
    const { rowid: seq } = this.#insert.run(
      ...values,
      attempts,
      max_attempts,
      bytes,
      grp,
      dedupe,
      traceparent,
      baggage,
      principal,
      job.role,
      job.provider,
      lease?.run ?? null,
      lease?.take ?? null,
    );
    this.#insertBody.run(seq, data);
    this.#count(job, state, 1, bytes);
    return seq;
  }

  #stateOfNew({ queue, principal, grp, timed }: Omit<JobRow, "seq" | "state">): number {
    const isBehind = grp !== null && this.#firstOfGroup.get(queue, principal, grp) !== undefined;
    if (isBehind) return BLOCKED;
    return timed === AT_ONCE ? READY : DELAYED;
  }

  /** Moves a job to another state. `more` holds the other changed columns. */
  move(
    job: JobRow,
    state: number,
    more: {
      readonly due?: number;
      readonly timed?: number;
      readonly attempts?: number;
      readonly failedAt?: number | null;
    } = {},
  ): void {
    const { due = job.due, timed = job.timed, attempts = job.attempts, failedAt = job.failed_at } = more;
    this.#setState.run(state, due, timed, attempts, failedAt, job.seq);
    this.#count(job, job.state, -1, 0);
    this.#count(job, state, 1, 0);
  }

  /** Deletes a job with its failures. */
  remove(job: JobRow): void {
    this.removeButFailures(job);
    this.#deleteFailuresOf(job);
  }

  /** Deletes a job but keeps its failures. */
  removeButFailures(job: JobRow): void {
    this.#delete.run(job.seq);
    this.#deleteBody.run(job.seq);
    this.#count(job, job.state, -1, -job.bytes);
  }

  /** Ends a job and deletes it. Returns true if this unblocked another job of its group. */
  end(job: JobRow, how: EndedState): boolean {
    this.remove(job);
    return this.noteEnd(job, how);
  }

  /** Ends an active job that succeeded, and keeps it. Returns true if this unblocked another job of its group. */
  finish(job: JobRow, { result, endedAt, durationMs }: Outcome, keepUntil: number): boolean {
    this.#deleteBody.run(job.seq);
    this.#setDone.run(endedAt, durationMs, result ?? null, keepUntil, job.seq);
    this.#count(job, job.state, -1, -job.bytes);
    this.countKept(job, 1);
    return this.noteEnd(job, "done");
  }

  /** Deletes a done job. */
  forget(job: Pick<JobRow, "seq" | "queue" | "principal" | "attempts" | "failed_at">): void {
    this.#delete.run(job.seq);
    this.#deleteFailuresOf(job);
    this.countKept(job, -1);
  }

  /** Counts the end of a job, whose row is deleted or done. Returns true if this unblocked another job of its group. */
  noteEnd(job: JobRow, how: EndedState): boolean {
    const row = this.queues.byId(job.queue);
    row[how] += 1;
    this.queues.changed(row);
    if (job.dedupe !== null) this.#endDedupe.run(how, job.id);
    return this.unblock(job);
  }

  /** Makes the first job of the group ready or delayed if it is blocked. Returns true if it was blocked. */
  unblock({ queue, principal, grp }: Pick<JobRow, "queue" | "principal" | "grp">): boolean {
    const first = grp === null ? undefined : this.#firstOfGroup.get(queue, principal, grp);
    if (first === undefined || first.state !== BLOCKED) return false;
    this.move(first, first.timed === AT_ONCE ? READY : DELAYED);
    return true;
  }

  fail(job: JobRow, failure: FailedAttempt): void {
    const { attempt, at, code, message, stack, worker, traceId } = failure;
    this.#insertFailure.run(
      job.seq,
      attempt,
      at,
      stored(code),
      stored(message),
      orNull(stack),
      orNull(worker),
      traceId ?? null,
    );
    if (attempt > MAX_FAILURES) this.#trimFailures.run(job.seq, MAX_FAILURES);
  }

  failures(seq: number): FailedAttempt[] {
    return this.#failures.all(seq).map((row) => ({
      attempt: Number(row.attempt),
      at: Number(row.at),
      code: original(String(row.code)),
      message: original(String(row.message)),
      stack: orUndefined(row.stack),
      worker: orUndefined(row.worker),
      traceId: orUndefined(row.trace),
    }));
  }

  #deleteFailuresOf({ seq, attempts, failed_at }: Pick<JobRow, "seq" | "attempts" | "failed_at">): void {
    // Other jobs have no failures: a redriven job has 0 attempts, but its `failed_at` is still set.
    if (attempts > 0 || failed_at !== null) this.#deleteFailures.run(seq);
  }

  /** Adds `by` to the number of done jobs that are kept, for the queue and for the share of the principal. */
  countKept({ queue, principal }: Pick<JobRow, "queue" | "principal">, by: number): void {
    const row = this.queues.byId(queue);
    row.kept += by;
    this.queues.changed(row);
    if (principal === "") return;
    const share = this.queues.shares.of(queue, principal);
    share.kept += by;
    row.restricted_kept += by;
    this.queues.shares.changed(share);
  }

  #count({ queue, principal }: Pick<JobRow, "queue" | "principal">, state: number, by: number, bytes: number): void {
    const row = this.queues.byId(queue);
    row[state === BLOCKED || state === READY ? "waiting" : stateOf(state)] += by;
    row.bytes += bytes;
    this.queues.changed(row);
    if (principal === "") return;
    const share = this.queues.shares.of(queue, principal);
    const kind = state === DEAD ? "dead" : "depth";
    share[kind] += by;
    share.bytes += bytes;
    row[`restricted_${kind}`] += by;
    row.restricted_bytes += bytes;
    this.queues.shares.changed(share);
  }
}

export function orNull(text: string | undefined): string | null {
  return text === undefined ? null : stored(text);
}

export function orUndefined(text: unknown): string | undefined {
  return typeof text === "string" ? original(text) : undefined;
}

export function makerOfRow({ principal, role }: Pick<JobRow, "principal" | "role">): Maker | undefined {
  return principal === "" ? undefined : { principal: original(principal), role: orUndefined(role) };
}
