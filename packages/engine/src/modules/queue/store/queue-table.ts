import type { Database, Statement } from "../../../store/driver.ts";
import type { WriteBuffer } from "../../../store/procedures.ts";
import type { QueueCounts } from "./job.ts";
import { ShareTable } from "./share-table.ts";

/** The stored row of a queue. */
export interface QueueRow {
  readonly id: number;
  readonly name: string;
  paused: number;
  /**
   * The latest `due` of a job without a delay. Later jobs get at least this value, so that they do not run before
   * earlier jobs if the clock is set back.
   */
  last_due: number;
  waiting: number;
  delayed: number;
  active: number;
  dead: number;
  bytes: number;
  added: number;
  done: number;
  died: number;
  expired: number;
  cancelled: number;
  /** Done jobs that are kept. */
  kept: number;
  /** Counts of all restricted principals together. */
  restricted_depth: number;
  restricted_bytes: number;
  restricted_dead: number;
  restricted_kept: number;
}

type Column = Exclude<keyof QueueRow, "id" | "name">;

const COLUMNS: readonly Column[] = [
  ...[
    "paused",
    "last_due",
    "waiting",
    "delayed",
    "active",
    "dead",
    "bytes",
    "added",
    "done",
    "died",
    "expired",
    "cancelled",
    "kept",
  ],
  ...["restricted_depth", "restricted_bytes", "restricted_dead", "restricted_kept"],
] as Column[];

/**
 * The queues and their counts. Many jobs of a batch change the same row, so each row is written once, before the
 * commit.
 */
export class QueueTable implements WriteBuffer {
  readonly shares: ShareTable;
  readonly #byName = new Map<string, QueueRow>();
  readonly #byId = new Map<number, QueueRow>();
  readonly #changed = new Set<QueueRow>();
  readonly #named: Statement;
  readonly #numbered: Statement;
  readonly #all: Statement<{ readonly name: string }>;
  readonly #insert: Statement;
  readonly #update: Statement;

  constructor(database: Database) {
    this.shares = new ShareTable(database);
    const columns = `id, name, ${COLUMNS.join(", ")}`;
    this.#named = database.prepare(`SELECT ${columns} FROM queues WHERE name = ?`);
    this.#numbered = database.prepare(`SELECT ${columns} FROM queues WHERE id = ?`);
    this.#all = database.prepare("SELECT name FROM queues ORDER BY name");
    this.#insert = database.prepare("INSERT INTO queues (name) VALUES (?)");
    this.#update = database.prepare(
      `UPDATE queues SET ${COLUMNS.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`,
    );
  }

  /** Returns undefined if the queue was never used. */
  find(name: string): QueueRow | undefined {
    return this.#byName.get(name) ?? this.#remember(this.#named.get(name));
  }

  /** Returns the queue; creates it if it is new. */
  open(name: string): QueueRow {
    const known = this.find(name);
    if (known !== undefined) return known;
    this.#insert.run(name);
    return this.find(name) as QueueRow;
  }

  byId(id: number): QueueRow {
    return this.#byId.get(id) ?? (this.#remember(this.#numbered.get(id)) as QueueRow);
  }

  /** Call after each change of a row. */
  changed(row: QueueRow): void {
    this.#changed.add(row);
  }

  names(): string[] {
    return this.#all.all().map(({ name }) => name);
  }

  counts(row: QueueRow): QueueCounts {
    const { name, paused, waiting, delayed, active, dead, bytes, added, done, died, expired, cancelled, kept } = row;
    return {
      queue: name,
      waiting,
      delayed,
      active,
      dead,
      bytes,
      paused: paused === 1,
      added,
      done,
      died,
      expired,
      cancelled,
      kept,
    };
  }

  flush(): void {
    for (const row of this.#changed) this.#update.run(...COLUMNS.map((column) => row[column]), row.id);
    this.#changed.clear();
    this.shares.flush();
  }

  discard(): void {
    this.shares.discard();
    this.#changed.clear();
    this.#byName.clear();
    this.#byId.clear();
  }

  #remember(found: unknown): QueueRow | undefined {
    if (found === undefined) return undefined;
    // The schema guarantees the columns' types. Copy the row, because a driver's row may not be an ordinary object.
    const row = { ...(found as QueueRow) };
    this.#byName.set(row.name, row);
    this.#byId.set(row.id, row);
    return row;
  }
}
