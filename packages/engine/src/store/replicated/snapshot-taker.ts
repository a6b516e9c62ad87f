import { type Clock, every } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import { type Log, LogUnavailable, MAX_ENTRY_BYTES } from "../log.ts";
import { cutLog, isSnapshotDue, type SnapshotSource, saveSnapshot } from "./save-snapshot.ts";
import type { Seeds } from "./seeds.ts";

/** Interval at which the size of the log is checked if enough entries were added, in milliseconds. */
const LOOK_EVERY_MS = 2_000;
/** Pause after a failure, in milliseconds. */
const RETRY_MS = 60_000;

export interface SnapshotTakerParts {
  readonly store: SnapshotSource & { position(): number; problem(): string | undefined };
  readonly log: Log;
  readonly seeds: Seeds;
  /** Path of a temporary file. */
  readonly draft: string;
  /** Growth of the log, in bytes, after which a snapshot is taken. */
  readonly after: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Takes a snapshot each time the log has grown enough. If several engines try at the same time, one of them takes it.
 */
export class SnapshotTaker {
  readonly #parts: SnapshotTakerParts;
  /** Number of new entries before the size of the log is checked. With fewer entries it cannot have grown enough. */
  readonly #minEntries: number;
  /** Position of the store at the last check. */
  #seen = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;
  /** True if the running check has begun a snapshot. */
  #hasBegun = false;
  #cutProblem: string | undefined;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #stopTicking = (): void => {};
  readonly #abort = new AbortController();

  constructor(parts: SnapshotTakerParts) {
    this.#parts = parts;
    this.#minEntries = Math.max(1, Math.floor(parts.after / 8 / MAX_ENTRY_BYTES));
  }

  start(): void {
    this.#stopTicking = every(this.#parts.clock, LOOK_EVERY_MS, () => this.#tick());
  }

  /**
   * Stops. A snapshot in progress is cancelled: at once while the replica is copied, otherwise after the current
   * requests to the servers. If the servers do not answer, each of these requests ends by its timeout.
   */
  async stop(): Promise<void> {
    this.#stopTicking();
    this.#abort.abort();
    await this.#looking;
  }

  #tick(): void {
    const { store, clock, logger } = this.#parts;
    const position = store.position();
    if (this.#looking !== undefined || position - this.#seen < this.#minEntries) return;
    if (store.problem() !== undefined || clock.monotonic() < this.#pausedUntil) return;
    this.#hasBegun = false;
    this.#looking = this.#look()
      .then(() => {
        this.#seen = position;
      })
      .catch((error: unknown) => {
        if (this.#abort.signal.aborted) return;
        // A server that does not know the last entry yet throws this error. The next check asks again.
        if (error instanceof LogUnavailable && !this.#hasBegun) return;
        this.#pausedUntil = clock.monotonic() + RETRY_MS;
        logger.warn("no snapshot could be taken, so the log still grows; retrying in 60 s", { error });
      })
      .finally(() => {
        this.#looking = undefined;
      });
  }

  async #look(): Promise<void> {
    const { store, log, seeds, draft, after, clock, logger } = this.#parts;
    const found = await cutLog(log, seeds);
    if (found.problem !== undefined && found.problem !== this.#cutProblem)
      logger.warn("the log is not cut although there are snapshots", { problem: found.problem });
    this.#cutProblem = found.problem;
    if (!isSnapshotDue(found, after)) return;
    const begunAt = clock.monotonic();
    const onBegin = (): void => {
      this.#hasBegun = true;
      logger.info("a snapshot is being taken", { position: store.position() });
    };
    const options = { log, seeds, draft, after, signal: this.#abort.signal, onBegin };
    const snapshot = await saveSnapshot(store, options);
    if (snapshot === undefined) return;
    const took_ms = Math.round(clock.monotonic() - begunAt);
    logger.info("a snapshot was taken", { position: snapshot.position, took_ms });
  }
}
