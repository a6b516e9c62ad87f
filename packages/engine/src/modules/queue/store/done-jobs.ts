import type { Database } from "../../../store/driver.ts";
import { type StoreTime, type WriteBuffer, write } from "../../../store/procedures.ts";
import type { KeepDone } from "./job.ts";
import type { JobRow, JobTable } from "./job-table.ts";
import type { JobProcedures } from "./queue-store.ts";
import { sharesOf } from "./share-limits.ts";

/** Maximum done jobs of a queue that one transaction deletes, e.g. after the limit was lowered. */
const MAX_TRIMMED = 1_000;

type DoneRow = Pick<JobRow, "seq" | "queue" | "principal" | "attempts" | "failed_at">;

/**
 * Completes jobs that succeeded, and keeps them for some time. If a queue then has more done jobs than it may keep, the
 * oldest are deleted at the end of the transaction, so that one statement deletes the surplus of a whole batch.
 */
export class DoneJobs implements WriteBuffer {
  readonly #jobs: JobTable;
  readonly #time: StoreTime;
  /** `keep.count` of the queues that got done jobs in this transaction, by id of the queue. */
  readonly #limits = new Map<number, number>();
  readonly #ofRestricted: (queue: number, principal?: string) => DoneRow | undefined;
  readonly #oldest: (queue: number, limit: number) => readonly DoneRow[];
  readonly #expired: (queue: number, now: number, limit: number) => readonly DoneRow[];
  readonly #deleteOldest: (queue: number, limit: number) => void;

  constructor(database: Database, jobs: JobTable, time: StoreTime) {
    this.#jobs = jobs;
    this.#time = time;
    const select = "SELECT seq, queue, principal, attempts, failed_at FROM jobs WHERE state = 5 AND queue = ?";
    const order = "ORDER BY expires_at, seq LIMIT ?";
    const oldest = database.prepare<DoneRow>(`${select} ${order}`);
    const restricted = database.prepare<DoneRow>(`${select} AND principal <> '' ${order}`);
    const ofPrincipal = database.prepare<DoneRow>(`${select} AND principal <> '' AND principal = ? ${order}`);
    const expired = database.prepare<DoneRow>(`${select} AND expires_at <= ? ${order}`);
    const oldestSeqs = `(SELECT seq FROM jobs WHERE state = 5 AND queue = ? ${order})`;
    const deleteFailures = database.prepare(`DELETE FROM failures WHERE job IN ${oldestSeqs}`);
    const deleteJobs = database.prepare(`DELETE FROM jobs WHERE seq IN ${oldestSeqs}`);
    this.#oldest = (queue, limit) => oldest.all(queue, limit);
    this.#ofRestricted = (queue, principal) =>
      principal === undefined ? restricted.get(queue, 1) : ofPrincipal.get(queue, principal, 1);
    this.#expired = (queue, now, limit) => expired.all(queue, now, limit);
    this.#deleteOldest = (queue, limit) => {
      deleteFailures.run(queue, limit);
      deleteJobs.run(queue, limit);
    };
  }

  procedures() {
    const jobs = this.#jobs;
    const time = this.#time;
    return {
      done: write(({ seq, run, keep, ...outcome }) => {
        const job = jobs.leased({ seq, run });
        const { name: queue } = jobs.queues.byId(job.queue);
        if (keep.count === 0) return { queue, unblocked: jobs.end(job, "done") };
        const unblocked = jobs.finish(job, outcome, time.now() + keep.ageMs);
        if (job.principal !== "") this.#trimRestricted(job, keep);
        this.#limits.set(job.queue, keep.count);
        return { queue, unblocked };
      }),
      dropDone: write(({ limit }) => {
        let dropped = 0;
        for (const name of jobs.queues.names()) {
          const queue = jobs.queues.open(name);
          const rows = queue.kept === 0 ? [] : this.#expired(queue.id, time.now(), limit - dropped);
          for (const row of rows) jobs.forget(row);
          dropped += rows.length;
        }
        return dropped;
      }),
    } satisfies Partial<JobProcedures>;
  }

  flush(): void {
    for (const [id, count] of this.#limits) {
      const queue = this.#jobs.queues.byId(id);
      const surplus = Math.min(MAX_TRIMMED, queue.kept - count);
      if (surplus <= 0) continue;
      if (queue.restricted_kept > 0) {
        // Delete row by row, because each done job of a restricted principal counts in the share of that principal.
        for (const row of this.#oldest(id, surplus)) this.#jobs.forget(row);
        continue;
      }
      this.#deleteOldest(id, surplus);
      this.#jobs.countKept({ queue: id, principal: "" }, -surplus);
    }
    this.#limits.clear();
  }

  discard(): void {
    this.#limits.clear();
  }

  /**
   * Deletes the oldest done jobs of a restricted principal beyond its share. Also deletes the oldest done jobs of any
   * restricted principals while all of them together have more than half of `count`, so that the other half is left to
   * trusted callers.
   */
  #trimRestricted({ queue: id, principal }: JobRow, { count }: KeepDone): void {
    const { queues } = this.#jobs;
    const { each, restricted } = sharesOf(count);
    for (let trimmed = 0; trimmed < MAX_TRIMMED; trimmed++) {
      const isBeyondShare = queues.shares.of(id, principal).kept > each;
      if (!isBeyondShare && queues.byId(id).restricted_kept <= restricted) return;
      const row = this.#ofRestricted(id, isBeyondShare ? principal : undefined);
      if (row === undefined) return;
      this.#jobs.forget(row);
    }
  }
}
