import { stored } from "../../../items/adapters/file-thread/stored-text.ts";
import type { Database, Statement } from "../../../store/driver.ts";

/** What one restricted principal has on one queue. */
export type ShareRow = {
  readonly queue: number;
  /** As it is stored. */
  readonly principal: string;
  /** Jobs that wait, are delayed or run. */
  depth: number;
  bytes: number;
  dead: number;
};

/** Rows that are kept in memory between transactions. */
const MAX_KNOWN = 1_000;

/** The shares of restricted principals, with counts that are kept. A share without jobs has no row. */
export class ShareTable {
  readonly #known = new Map<string, ShareRow>();
  readonly #changed = new Set<ShareRow>();
  readonly #find: Statement<ShareRow>;
  readonly #put: Statement;
  readonly #delete: Statement;
  readonly #deadWithin: Statement<{ readonly dead: number }>;

  constructor(database: Database) {
    this.#find = database.prepare("SELECT queue, principal, depth, bytes, dead FROM shares WHERE queue = ? AND principal = ?");
    this.#put = database.prepare(
      "INSERT INTO shares (queue, principal, depth, bytes, dead) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (queue, principal) DO UPDATE SET depth = ?3, bytes = ?4, dead = ?5",
    );
    this.#delete = database.prepare("DELETE FROM shares WHERE queue = ? AND principal = ?");
    this.#deadWithin = database.prepare("SELECT COALESCE(SUM(MIN(dead, ?)), 0) AS dead FROM shares WHERE queue = ?");
  }

  /** `principal` as it is stored. */
  of(queue: number, principal: string): ShareRow {
    const key = `${queue} ${principal}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const row = { ...(this.#find.get(queue, principal) ?? { queue, principal, depth: 0, bytes: 0, dead: 0 }) };
    this.#known.set(key, row);
    return row;
  }

  /** To be called after a row was changed. */
  changed(row: ShareRow): void {
    this.#changed.add(row);
  }

  /** Dead letters of all restricted principals of the queue, of each at most `each`. */
  deadWithin(queue: number, each: number): number {
    this.flush();
    return this.#deadWithin.get(each, queue)?.dead ?? 0;
  }

  flush(): void {
    for (const { queue, principal, depth, bytes, dead } of this.#changed) {
      if (depth === 0 && dead === 0) this.#delete.run(queue, principal);
      else this.#put.run(queue, principal, depth, bytes, dead);
    }
    this.#changed.clear();
    if (this.#known.size > MAX_KNOWN) this.#known.clear();
  }

  discard(): void {
    this.#changed.clear();
    this.#known.clear();
  }
}

/** How the principal of a job is kept: empty is the trusted one. */
export function storedPrincipal(principal: string | undefined): string {
  return principal === undefined ? "" : stored(principal);
}
