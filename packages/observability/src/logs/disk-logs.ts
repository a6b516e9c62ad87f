import { mkdirSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import { ageClock, type Clock, every, type Logger, type OpenStore, type Store } from "@svc-runtime/engine/module";
import type { DropCounter } from "../telemetry-records.ts";
import { sizeOf } from "./bounded-record.ts";
import type { RedactAttributes } from "./log-json.ts";
import type { LogFileStats, LogProcedures } from "./log-procedures.ts";
import { rowOf } from "./log-row.ts";
import type { LogSource, LogStore, LogStoreStats } from "./log-store.ts";
import type { StoredLog } from "./stored-log.ts";

/** Queued entries are written after this time, in milliseconds. */
const FLUSH_MS = 1_000;
/** Queued entries are also written at this number. */
const FLUSH_COUNT = 1_000;
/** Maximum number of entries that are queued or in flight. Further ones are dropped and counted. */
const MAX_QUEUED_COUNT = 20_000;
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
/** Interval of the checks for entries over the limits, in milliseconds. */
const TRIM_EVERY_MS = 30_000;
/** Maximum number of entries that one step of a removal deletes. */
const TRIM_ROWS = 500;
/** A check runs early when this share of the maximum size was written since the last check. */
const TRIM_AFTER_SHARE = 1 / 32;
/** Maximum time that a stop waits for the disk, in milliseconds. */
const STOP_LIMIT_MS = 2_000;

export interface DiskLimits {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/** Stores log entries on disk. A query first writes the queued entries, so that it finds them. */
export class DiskLogs implements LogStore {
  readonly kind = "disk";
  readonly #store: Store<LogProcedures>;
  readonly #clock: Clock;
  readonly #ageNow: () => number;
  readonly #log: Logger;
  readonly #drops: DropCounter;
  readonly #redact: RedactAttributes;
  #limits: DiskLimits;
  #stats: LogFileStats;
  #queue: StoredLog[] = [];
  #queuedBytes = 0;
  #inFlightCount = 0;
  #inFlightBytes = 0;
  #cancelFlush: (() => void) | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #trimming: Promise<void> | undefined;
  #untrimmedBytes = 0;
  readonly #stopTrimming: () => void;

  private constructor(parts: DiskLogsParts, store: Store<LogProcedures>, stats: LogFileStats) {
    this.#store = store;
    this.#clock = parts.clock;
    this.#ageNow = ageClock(parts.clock);
    this.#log = parts.log;
    this.#drops = parts.drops;
    this.#redact = parts.redact;
    this.#limits = parts.limits;
    this.#stats = stats;
    this.#stopTrimming = every(parts.clock, TRIM_EVERY_MS, () => void this.trim());
  }

  /** Opens or creates the file. Renames a damaged file, because telemetry must not prevent the engine's start. */
  static async open(parts: DiskLogsParts): Promise<DiskLogs> {
    mkdirSync(dirname(parts.file), { recursive: true, mode: 0o700 });
    const store = await openOrReplaceDamaged(parts);
    const logs = new DiskLogs(parts, store, await store.call("stats", undefined));
    void logs.trim();
    return logs;
  }

  get lastId(): number {
    return this.#stats.lastId;
  }

  setLimits(limits: DiskLimits): void {
    this.#limits = limits;
    void this.trim();
  }

  add(entry: StoredLog): void {
    const size = sizeOf(entry.log);
    const count = this.#queue.length + this.#inFlightCount;
    if (count >= MAX_QUEUED_COUNT || this.#queuedBytes + this.#inFlightBytes + size > MAX_QUEUED_BYTES) {
      this.#drops.dropped("logs", "store_queue_full", 1);
      return;
    }
    this.#queue.push(entry);
    this.#queuedBytes += size;
    if (this.#queue.length >= FLUSH_COUNT) void this.#flush();
    else this.#cancelFlush ??= this.#clock.after(FLUSH_MS, () => void this.#flush());
  }

  async open(): Promise<LogSource> {
    await this.#flush();
    return {
      page: (request) => this.#store.call("page", request),
      tally: (request) => this.#store.call("tally", request),
    };
  }

  async get(id: number): Promise<StoredLog | undefined> {
    await this.#flush();
    return this.#store.call("get", id);
  }

  async clear(): Promise<void> {
    await this.#flush();
    await this.#store.call("clear", undefined);
    await this.#refreshStats();
  }

  stats(): LogStoreStats {
    const { stored, bytes, fileBytes, oldestMs } = this.#stats;
    const unwritten = this.#queue.length + this.#inFlightCount;
    return {
      stored: stored + unwritten,
      limit: undefined,
      bytes,
      maxBytes: this.#limits.maxBytes,
      diskBytes: fileBytes,
      oldestMs,
      unwritten,
    };
  }

  flush(): Promise<void> {
    return this.#flush();
  }

  /** Removes the entries over the limits. It works in steps, so that other requests run in between. Never rejects. */
  async trim(): Promise<void> {
    while (this.#trimming !== undefined) await this.#trimming;
    this.#trimming = this.#trimSteps();
    await this.#trimming;
    this.#trimIfMuchWritten();
  }

  async #trimSteps(): Promise<void> {
    this.#untrimmedBytes = 0;
    try {
      for (let more = true; more; ) {
        const oldestMs = this.#ageNow() - this.#limits.maxAgeMs;
        more = await this.#store.call("trim", { maxBytes: this.#limits.maxBytes, oldestMs, rows: TRIM_ROWS });
      }
      await this.#refreshStats();
    } catch (error) {
      this.#log.warn("stored log entries could not be trimmed", { error });
    } finally {
      this.#trimming = undefined;
    }
  }

  async stop(): Promise<void> {
    this.#stopTrimming();
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#clock.after(STOP_LIMIT_MS, resolve);
    });
    await Promise.race([this.#flush().then(() => this.#store.close()), late]);
    cancel();
  }

  /** Resolves when all entries that were added before are written or dropped. Never rejects. */
  #flush(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    const entries = this.#queue;
    const bytes = this.#queuedBytes;
    if (entries.length === 0) return this.#flushing;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#inFlightCount += entries.length;
    this.#inFlightBytes += bytes;
    // This time is up to a second after the real arrival, which is exact enough for the age limit.
    const arrivedMs = this.#ageNow();
    const written = this.#store
      .call(
        "append",
        entries.map((entry) => rowOf(entry, arrivedMs, this.#redact)),
        { bytes },
      )
      .then(
        () => this.#refreshStats(),
        (error: unknown) => {
          this.#log.warn("log entries could not be written to disk and are lost", { entries: entries.length, error });
          this.#drops.dropped("logs", "store_failed", entries.length);
        },
      );
    this.#untrimmedBytes += bytes;
    this.#trimIfMuchWritten();
    const done = written.then(() => {
      this.#inFlightCount -= entries.length;
      this.#inFlightBytes -= bytes;
    });
    this.#flushing = this.#flushing.then(() => done);
    return this.#flushing;
  }

  #trimIfMuchWritten(): void {
    if (this.#trimming === undefined && this.#untrimmedBytes > TRIM_AFTER_SHARE * this.#limits.maxBytes)
      void this.trim();
  }

  async #refreshStats(): Promise<void> {
    try {
      this.#stats = await this.#store.call("stats", undefined);
    } catch {
      // The store logs its own errors. The previous numbers stay in use.
    }
  }
}

export interface DiskLogsParts {
  /** Absolute path. */
  readonly file: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly drops: DropCounter;
  readonly openStore: OpenStore;
  /** Masks secrets. It is applied to each entry before it is written. */
  readonly redact: RedactAttributes;
  readonly limits: DiskLimits;
}

async function openOrReplaceDamaged({ file, log, clock, openStore }: DiskLogsParts): Promise<Store<LogProcedures>> {
  const open = (): Promise<Store<LogProcedures>> =>
    openStore<LogProcedures>({
      file,
      procedures: new URL("./log-procedures.js", import.meta.url),
      log,
      clock,
      durability: "relaxed",
      isBackground: true,
    });
  try {
    return await open();
  } catch (error) {
    const aside = `${file}.damaged-${clock.now()}`;
    log.error("the log file cannot be used; it was renamed and a new one created", { file, aside, error });
    for (const ending of ["", "-wal", "-shm"]) renameIfExists(`${file}${ending}`, `${aside}${ending}`);
    return open();
  }
}

function renameIfExists(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
