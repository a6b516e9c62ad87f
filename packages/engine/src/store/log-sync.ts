import { open } from "node:fs/promises";

/**
 * Delay between a write and its sync, in milliseconds. The delay and the sync together should take less than one
 * second.
 */
const SYNC_DELAY_MS = 500;

/**
 * Syncs a database's write-ahead log soon after each write, for a store that does not sync each commit. Writes continue
 * during a sync. This class opens the log beside SQLite. That is safe, because SQLite holds its locks on the database
 * and on the shared memory, never on the log.
 */
export class LogSync {
  readonly #log: string;
  readonly #onFailure: (reason: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** True if there were writes after the running sync started. */
  #again = false;
  #stopped = false;

  constructor(file: string, onFailure: (reason: string) => void) {
    this.#log = `${file}-wal`;
    this.#onFailure = onFailure;
  }

  /** Must be called after each write. */
  note(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) this.#again = true;
    else this.#timer ??= setTimeout(() => this.#start(), SYNC_DELAY_MS);
  }

  /** Stops. Resolves when no sync is running any more. */
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
      // The log may be missing: SQLite removes it after a complete checkpoint.
      if (error.code !== "ENOENT") this.#onFailure(error.message);
    }
  }
}
