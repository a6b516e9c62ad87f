import type { Clock } from "../../kernel/clock.ts";
import { LogChanged, type LogEntry, type LogState, LogTruncated, LogUnavailable } from "../../store/log.ts";
import { SETTLE_MS } from "./log-end.ts";

/** After this time without a live entry the end of the log is looked up, in milliseconds. */
const LOOK_EVERY_MS = 2_000;
/** How long to wait for a live entry that is known to be stored, in milliseconds. */
const LATE_MS = 100;
const RETRY_MS = 250;
/** Maximum number of entries that are requested at a time. Each has up to 512 KiB. */
const MAX_REQUESTS = 32;

export interface EntryReaderParts {
  readonly from: number;
  readonly clock: Clock;
  readonly state: () => Promise<LogState>;
  readonly read: (position: number) => Promise<LogEntry | undefined>;
  readonly onEntry: (entry: LogEntry) => void;
  /** Called at most once. Nothing is called after it. */
  readonly onFailed: (error: LogTruncated | LogChanged) => void;
}

/**
 * Delivers the entries of a log in order and without gaps. Live entries arrive by themselves, but some of them may be
 * lost. Lost entries are read from the log by their position.
 */
export class EntryReader {
  readonly #parts: EntryReaderParts;
  #next: number;
  /** Highest position that is known to be stored. */
  #stored = 0;
  /** Identity of the log; undefined until the log was asked for it. */
  #identity: string | undefined;
  #isStopped = false;
  #isCatchingUp = false;
  /** True if the next round must read the state of the log. */
  #mustLook = true;
  #cancelTimer = (): void => {};
  #isLateTimerSet = false;
  /** An entry that the log has but does not return, and the monotonic time since which it is missing. */
  #missing: { readonly position: number; readonly since: number } | undefined;

  constructor(parts: EntryReaderParts) {
    this.#parts = parts;
    this.#next = parts.from;
  }

  start(): void {
    this.#catchUp();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
  }

  /** Receives an entry that has just been stored. */
  live(entry: LogEntry): void {
    if (this.#isStopped) return;
    this.#stored = Math.max(this.#stored, entry.position);
    if (entry.position < this.#next) return;
    // The first live entry is not delivered before the state of the log is known, because the log may have lost
    // entries.
    if (entry.position > this.#next || this.#identity === undefined) this.#catchUp();
    else this.#give(entry);
  }

  /**
   * Must be called when an entry is known to be stored. It is read from the log if it does not arrive as a live entry
   * soon.
   */
  expect(position: number): void {
    this.#stored = Math.max(this.#stored, position);
    if (this.#isStopped || position < this.#next || this.#isLateTimerSet) return;
    this.#isLateTimerSet = true;
    this.#parts.clock.after(LATE_MS, () => {
      this.#isLateTimerSet = false;
      if (this.#stored >= this.#next) this.#catchUp();
    });
  }

  /** Reads the state of the log and all entries that were missed. */
  lookAgain(): void {
    this.#mustLook = true;
    this.#catchUp();
  }

  #give(entry: LogEntry): void {
    if (this.#isStopped || entry.position !== this.#next) return;
    this.#next += 1;
    this.#parts.onEntry(entry);
  }

  #catchUp(): void {
    if (this.#isStopped || this.#isCatchingUp) return;
    this.#isCatchingUp = true;
    this.#cancelTimer();
    void this.#readMissing().then(
      () => this.#lookIn(LOOK_EVERY_MS),
      // The log is unavailable.
      () => this.#lookIn(RETRY_MS),
    );
  }

  #lookIn(ms: number): void {
    this.#isCatchingUp = false;
    if (this.#isStopped) return;
    const before = this.#next;
    this.#cancelTimer();
    this.#cancelTimer = this.#parts.clock.after(ms, () => {
      // Live entries arrive, so the log works and need not be asked yet.
      if (this.#next > before && this.#stored < this.#next) this.#lookIn(ms);
      else this.lookAgain();
    });
  }

  async #readMissing(): Promise<void> {
    if (this.#mustLook) await this.#look();
    while (!this.#isStopped && this.#next <= this.#stored) {
      const from = this.#next;
      await this.#read(Math.min(MAX_REQUESTS, this.#stored - from + 1));
      if (this.#next === from && !this.#isStopped) await this.#explainMissing(from);
    }
  }

  async #read(count: number): Promise<void> {
    const from = this.#next;
    const entries = await Promise.all(Array.from({ length: count }, (_, at) => this.#parts.read(from + at)));
    for (const entry of entries) if (entry !== undefined) this.#give(entry);
  }

  /** Called if a stored entry was not found. Throws if it may be found later. */
  async #explainMissing(position: number): Promise<void> {
    const { last } = await this.#look();
    if (this.#isStopped || this.#next > position) return;
    // A new leader of the log may not have applied the entry yet at the first attempt.
    if (position <= last) await this.#read(1);
    if (this.#isStopped || this.#next > position) return;
    // The entry may have been truncated meanwhile.
    await this.#look();
    if (this.#isStopped || this.#next > position) return;
    const now = this.#parts.clock.monotonic();
    if (position > last) this.#missing = undefined;
    else if (this.#missing?.position !== position) this.#missing = { position, since: now };
    else if (now - this.#missing.since >= SETTLE_MS) {
      this.#fail(new LogChanged(`entry ${position} of the log is missing`));
      return;
    }
    throw new LogUnavailable(`entry ${position} is not readable yet`);
  }

  /** Reads the state of the log. Fails if entries that were seen earlier are missing, or if the log was replaced. */
  async #look(): Promise<LogState> {
    const wanted = this.#next;
    const state = await this.#parts.state();
    const { identity, first, last } = state;
    this.#mustLook = false;
    this.#identity ??= identity;
    this.#stored = Math.max(this.#stored, last);
    if (identity !== this.#identity) this.#fail(new LogChanged("the log is another one than before"));
    else if (wanted < first && this.#next === wanted)
      this.#fail(new LogTruncated(`the log begins at ${first}, after ${wanted}`));
    else if (wanted > last + 1)
      this.#fail(new LogChanged(`the log ends at ${last}; it had ${wanted - 1} entries before`));
    return state;
  }

  #fail(error: LogTruncated | LogChanged): void {
    if (this.#isStopped) return;
    this.stop();
    this.#parts.onFailed(error);
  }
}
