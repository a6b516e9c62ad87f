import type { Database, Statement } from "./driver.ts";
import type { StoreTime, WriteBuffer } from "./procedures.ts";

/** Time of a batch of requests, in milliseconds since 1970. */
export interface BatchTime {
  /** Time of the log: see `StoreTime.now`. */
  readonly now: number;
  /** Wall clock. */
  readonly wall: number;
}

/**
 * Interval at which the stored time is updated, in milliseconds, so that not every commit writes the page of the time.
 */
const STORE_EVERY_MS = 1_000;

/**
 * Keeps the log time of a database, and stores it in the database. The wall clock is stored too: after a restart, the
 * present wall clock minus the stored one is the time that passed while the engine did not run.
 */
export class LogTime implements StoreTime, WriteBuffer {
  readonly #update: Statement;
  #last: number;
  #now: number;
  #wall: number;
  /**
   * The stored time; undefined if the database has none, or if it is not known whether the last update was committed.
   */
  #stored: BatchTime | undefined;

  constructor(database: Database) {
    database.exec(
      "CREATE TABLE IF NOT EXISTS store_time (id INTEGER PRIMARY KEY CHECK (id = 1), now INTEGER NOT NULL, wall INTEGER NOT NULL)",
    );
    const row = database
      .prepare<{ readonly now: number; readonly wall: number }>("SELECT now, wall FROM store_time")
      .get();
    this.#update = database.prepare("INSERT OR REPLACE INTO store_time (id, now, wall) VALUES (1, ?, ?)");
    this.#stored = row === undefined ? undefined : { now: row.now, wall: row.wall };
    this.#last = this.#now = row?.now ?? 0;
    this.#wall = row?.wall ?? 0;
  }

  /** The time that was stored last; undefined if it is not known. */
  get stored(): BatchTime | undefined {
    return this.#stored;
  }

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#wall;
  }

  /**
   * Must be called before each batch. Only writes advance the time. Replicas run different reads, so a read must not
   * make a difference between them.
   */
  begin({ now, wall }: BatchTime, isWrite: boolean): void {
    this.#now = Math.max(now, this.#last);
    this.#wall = wall;
    if (isWrite) this.#last = this.#now;
  }

  /**
   * Stores the time in the transaction if it is missing, if one second has passed since the stored one, or if the wall
   * clock was set.
   */
  flush(): void {
    const stored = this.#stored;
    const skew = this.#wall - this.#now;
    if (stored !== undefined && this.#now - stored.now < STORE_EVERY_MS && stored.wall - stored.now === skew) return;
    this.#update.run(this.#now, this.#wall);
    this.#stored = { now: this.#now, wall: this.#wall };
  }

  discard(): void {
    this.#stored = undefined;
  }
}
