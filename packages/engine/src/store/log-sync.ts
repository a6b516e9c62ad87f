import { open } from "node:fs/promises";

/** How long after a write its sync begins, in milliseconds; with the sync itself it is to stay below a second. */
const SYNC_DELAY_MS = 500;

/**
 * Syncs a database's write-ahead log soon after each write, for a store that does not sync at each commit. Writes go on meanwhile. It opens the
 * log a second time, which is safe: SQLite locks the database and its shared memory, never the log.
 */
export class LogSync {
  readonly #log: string;
  readonly #onFailure: (reason: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** Written since the running sync began. */
  #again = false;
  #stopped = false;

  constructor(file: string, onFailure: (reason: string) => void) {
    this.#log = `${file}-wal`;
    this.#onFailure = onFailure;
  }

  /** Something was written. */
  note(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) this.#again = true;
    else this.#timer ??= setTimeout(() => this.#start(), SYNC_DELAY_MS);
  }

  /** Resolves once nothing is under way any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #start(): void {
    this.#timer = undefined;
    this.#running = this.#sync().finally(() => {
      this.#running = undefined;
      const again = this.#again;
      this.#again = false;
      if (again) this.note();
    });
  }

  /** Never rejects. */
  async #sync(): Promise<void> {
    try {
      const handle = await open(this.#log, "r+");
      try {
        await handle.datasync();
      } finally {
        await handle.close();
      }
    } catch (thrown) {
      const error = thrown as NodeJS.ErrnoException;
      // SQLite removes a log once all of it is written back into the file and synced there.
      if (error.code !== "ENOENT") this.#onFailure(error.message);
    }
  }
}
