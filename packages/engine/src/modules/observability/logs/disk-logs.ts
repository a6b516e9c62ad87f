import { mkdirSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import { ageClock, type Clock, every } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import { openStore, type Store } from "../../../store/store.ts";
import type { DropCounter } from "../model.ts";
import { sizeOf } from "./bounded-record.ts";
import type { RedactAttributes } from "./log-json.ts";
import type { LogFigures, LogProcedures } from "./log-procedures.ts";
import { rowOf } from "./log-row.ts";
import type { LogSource, LogStore, LogStoreFigures, StoredLog } from "./log-store.ts";

/** Entries wait for the disk at most so long, in milliseconds, and so many. */
const FLUSH_MS = 1_000;
const FLUSH_COUNT = 1_000;
/** What waits or is under way, at most; more is dropped and counted. */
const MAX_WAITING_COUNT = 20_000;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** How often limits are looked at, and what goes in one step then. */
const TRIM_EVERY_MS = 30_000;
const TRIM_ROWS = 500;
/** Of what the disk may take: so much that was written has the limits looked at at once. */
const TRIM_AFTER_SHARE = 1 / 32;
/** A stop waits for the disk so long. */
const STOP_LIMIT_MS = 2_000;

export interface DiskLimits {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/** Entries on the disk. What is on its way there is written before a query reads. */
export class DiskLogs implements LogStore {
  readonly kind = "disk";
  readonly #store: Store<LogProcedures>;
  readonly #clock: Clock;
  readonly #ageNow: () => number;
  readonly #log: Logger;
  readonly #drops: DropCounter;
  readonly #redact: RedactAttributes;
  #limits: DiskLimits;
  #figures: LogFigures;
  #waiting: StoredLog[] = [];
  #waitingBytes = 0;
  #underWayCount = 0;
  #underWayBytes = 0;
  #cancelFlush: (() => void) | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #trimming: Promise<void> | undefined;
  #untrimmedBytes = 0;
  readonly #stopTrimming: () => void;

  private constructor(parts: DiskLogsParts, store: Store<LogProcedures>, figures: LogFigures) {
    this.#store = store;
    this.#clock = parts.clock;
    this.#ageNow = ageClock(parts.clock);
    this.#log = parts.log;
    this.#drops = parts.drops;
    this.#redact = parts.redact;
    this.#limits = parts.limits;
    this.#figures = figures;
    this.#stopTrimming = every(parts.clock, TRIM_EVERY_MS, () => void this.trim());
  }

  /** Opens or makes the file; one that is damaged is put aside, since telemetry must not keep the engine from starting. */
  static async open(parts: DiskLogsParts): Promise<DiskLogs> {
    mkdirSync(dirname(parts.file), { recursive: true, mode: 0o700 });
    const store = await openOrPutAside(parts);
    const logs = new DiskLogs(parts, store, await store.call("figures", undefined));
    void logs.trim();
    return logs;
  }

  /** Greatest that the file has. */
  get lastId(): number {
    return this.#figures.lastId;
  }

  setLimits(limits: DiskLimits): void {
    this.#limits = limits;
    void this.trim();
  }

  add(entry: StoredLog): void {
    const size = sizeOf(entry.log);
    const count = this.#waiting.length + this.#underWayCount;
    if (count >= MAX_WAITING_COUNT || this.#waitingBytes + this.#underWayBytes + size > MAX_WAITING_BYTES) {
      this.#drops.dropped("logs", "store_queue_full", 1);
      return;
    }
    this.#waiting.push(entry);
    this.#waitingBytes += size;
    if (this.#waiting.length >= FLUSH_COUNT) void this.#flush();
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
    await this.#look();
  }

  figures(): LogStoreFigures {
    const { stored, bytes, fileBytes, oldestMs } = this.#figures;
    const unwritten = this.#waiting.length + this.#underWayCount;
    return { stored: stored + unwritten, limit: undefined, bytes, maxBytes: this.#limits.maxBytes, diskBytes: fileBytes, oldestMs, unwritten };
  }

  flush(): Promise<void> {
    return this.#flush();
  }

  /** Takes away what is over the limits, in steps between which others have the store. Never rejects. */
  async trim(): Promise<void> {
    while (this.#trimming !== undefined) await this.#trimming;
    this.#trimming = this.#trimSteps();
    await this.#trimming;
    this.#trimIfMuchCame();
  }

  async #trimSteps(): Promise<void> {
    this.#untrimmedBytes = 0;
    try {
      for (let more = true; more; ) {
        const oldestMs = this.#ageNow() - this.#limits.maxAgeMs;
        more = await this.#store.call("trim", { maxBytes: this.#limits.maxBytes, oldestMs, rows: TRIM_ROWS });
      }
      await this.#look();
    } catch (error) {
      this.#log.warn("the stored log entries could not be trimmed", { error });
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

  /** Resolves when all that was added before is written, or was dropped. Never rejects. */
  #flush(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    const entries = this.#waiting;
    const bytes = this.#waitingBytes;
    if (entries.length === 0) return this.#flushing;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#underWayCount += entries.length;
    this.#underWayBytes += bytes;
    // Within a second of when it came, which is near enough for its age.
    const arrivedMs = this.#ageNow();
    const written = this.#store
      .call(
        "append",
        entries.map((entry) => rowOf(entry, arrivedMs, this.#redact)),
        { bytes },
      )
      .then(
        () => this.#look(),
        (error: unknown) => {
          this.#log.warn("log entries could not be written to the disk and are lost", { entries: entries.length, error });
          this.#drops.dropped("logs", "store_failed", entries.length);
        },
      );
    this.#untrimmedBytes += bytes;
    this.#trimIfMuchCame();
    const done = written.then(() => {
      this.#underWayCount -= entries.length;
      this.#underWayBytes -= bytes;
    });
    this.#flushing = this.#flushing.then(() => done);
    return this.#flushing;
  }

  #trimIfMuchCame(): void {
    if (this.#trimming === undefined && this.#untrimmedBytes > TRIM_AFTER_SHARE * this.#limits.maxBytes) void this.trim();
  }

  async #look(): Promise<void> {
    try {
      this.#figures = await this.#store.call("figures", undefined);
    } catch {
      // The store tells its problems itself; the figures stay as they were.
    }
  }
}

export interface DiskLogsParts {
  /** Absolute path. */
  readonly file: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly drops: DropCounter;
  /** Applied before anything is written. */
  readonly redact: RedactAttributes;
  readonly limits: DiskLimits;
}

async function openOrPutAside({ file, log, clock }: DiskLogsParts): Promise<Store<LogProcedures>> {
  const open = (): Promise<Store<LogProcedures>> =>
    openStore<LogProcedures>({ file, procedures: new URL("./log-procedures.js", import.meta.url), log, clock, durability: "relaxed" });
  try {
    return await open();
  } catch (error) {
    const aside = `${file}.damaged-${clock.now()}`;
    log.error("the file of log entries cannot be used and was put aside; a new one is begun", { file, aside, error });
    for (const ending of ["", "-wal", "-shm"]) moveIfThere(`${file}${ending}`, `${aside}${ending}`);
    return open();
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
