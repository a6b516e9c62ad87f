import { stored } from "../../../items/adapters/file-thread/stored-text.ts";
import type { Database, Statement } from "../../../store/driver.ts";

/** Usage of one queue by one restricted principal. */
export type ShareRow = {
  readonly queue: number;
  /** Stored form, see storedPrincipal. */
  readonly principal: string;
  /** Waiting, delayed and active jobs. */
  depth: number;
  bytes: number;
  dead: number;
  /** Done jobs that are kept. */
  kept: number;
};

/** Maximum rows cached between transactions. */
const MAX_CACHED = 1_000;

/** The usage of queues by restricted principals. A principal without jobs has no row. */
export class ShareTable {
  readonly #cached = new Map<string, ShareRow>();
  readonly #changed = new Set<ShareRow>();
  readonly #find: Statement<ShareRow>;
  readonly #put: Statement;
  readonly #delete: Statement;
  readonly #deadWithin: Statement<{ readonly dead: number }>;

  constructor(database: Database) {
    this.#find = database.prepare(
      "SELECT queue, principal, depth, bytes, dead, kept FROM shares WHERE queue = ? AND principal = ?",
    );
    this.#put = database.prepare(
      "INSERT INTO shares (queue, principal, depth, bytes, dead, kept) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (queue, principal) DO UPDATE SET depth = ?3, bytes = ?4, dead = ?5, kept = ?6",
    );
    this.#delete = database.prepare("DELETE FROM shares WHERE queue = ? AND principal = ?");
    this.#deadWithin = database.prepare("SELECT COALESCE(SUM(MIN(dead, ?)), 0) AS dead FROM shares WHERE queue = ?");
  }

  /** Returns the row of the principal (stored form). */
  of(queue: number, principal: string): ShareRow {
    const key = `${queue} ${principal}`;
    const cached = this.#cached.get(key);
    if (cached !== undefined) return cached;
    const row = { ...(this.#find.get(queue, principal) ?? { queue, principal, depth: 0, bytes: 0, dead: 0, kept: 0 }) };
    this.#cached.set(key, row);
    return row;
  }

  /** Call after each change of a row. */
  changed(row: ShareRow): void {
    this.#changed.add(row);
  }

  /** Returns the dead letters of all restricted principals of the queue, counting at most `each` per principal. */
  deadWithin(queue: number, each: number): number {
    this.flush();
    return this.#deadWithin.get(each, queue)?.dead ?? 0;
  }

  flush(): void {
    for (const { queue, principal, depth, bytes, dead, kept } of this.#changed) {
      if (depth === 0 && dead === 0 && kept === 0) this.#delete.run(queue, principal);
      else this.#put.run(queue, principal, depth, bytes, dead, kept);
    }
    this.#changed.clear();
    if (this.#cached.size > MAX_CACHED) this.#cached.clear();
  }

  discard(): void {
    this.#changed.clear();
    this.#cached.clear();
  }
}

/** Returns the stored form of a job's principal. It is empty for trusted callers. */
export function storedPrincipal(principal: string | undefined): string {
  return principal === undefined ? "" : stored(principal);
}
