/** How long a line waits for earlier lines of other sources, in milliseconds. SDKs send log entries within 100 ms. */
const HOLD_MS = 250;
/** Maximum number of waiting lines. If there are more, the earliest half is written. */
const MAX_WAITING = 2_000;
const MAX_REMEMBERED_IDS = 4_096;

export interface MergedLine {
  /** Name of the source. Lines of the same source keep their order. */
  readonly source: string;
  /** Time of the line, in milliseconds since 1970. */
  readonly timeMs: number;
  /** Id of the log entry. If two lines have the same id, only one of them is written. */
  readonly id?: string | undefined;
  /** True if this line is dropped in favour of another line with the same id. */
  readonly isCopy?: boolean;
  readonly write: () => void;
}

interface Waiting extends MergedLine {
  /** Time by which the line is sorted. */
  readonly atMs: number;
}

export interface MergeClock {
  now(): number;
  /** Returns a function that cancels the timer. */
  after(ms: number, listener: () => void): () => void;
}

const systemClock: MergeClock = {
  now: () => Date.now(),
  after(ms, listener) {
    const timer = setTimeout(listener, ms);
    return () => clearTimeout(timer);
  },
};

/** Writes the lines of several sources in the order of their times. Each line is written once. */
export class MergedLines {
  readonly #clock: MergeClock;
  #waiting: Waiting[] = [];
  readonly #latestMs = new Map<string, number>();
  readonly #ids = new Set<string>();
  #lastNowMs = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: MergeClock = systemClock) {
    this.#clock = clock;
  }

  add(line: MergedLine): void {
    if (line.id !== undefined && this.#isKnown(line.id, line)) return;
    const { source, timeMs } = line;
    const nowMs = this.#now();
    // The time is at most the present one, so that a source whose clock is ahead does not hold back its lines.
    const atMs = Math.max(this.#latestMs.get(source) ?? 0, Math.min(timeMs, nowMs));
    this.#latestMs.set(source, atMs);
    this.#waiting.push({ ...line, atMs });
    if (this.#waiting.length > MAX_WAITING) this.#write(this.#waiting.length / 2);
    this.#cancelTimer ??= this.#clock.after(HOLD_MS, () => this.#writeDue());
  }

  /** Writes all waiting lines now. */
  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#write(this.#waiting.length);
  }

  /**
   * Returns true if the line must be dropped, because another line with its id was added before. Removes a waiting copy
   * with that id, so that this line replaces it.
   */
  #isKnown(id: string, { isCopy }: MergedLine): boolean {
    if (!this.#ids.has(id)) {
      this.#ids.add(id);
      const [oldest] = this.#ids;
      if (this.#ids.size > MAX_REMEMBERED_IDS && oldest !== undefined) this.#ids.delete(oldest);
      return false;
    }
    const copy = isCopy ? -1 : this.#waiting.findIndex((line) => line.isCopy && line.id === id);
    if (copy === -1) return true;
    this.#waiting.splice(copy, 1);
    return false;
  }

  #writeDue(): void {
    this.#cancelTimer = undefined;
    const untilMs = this.#now() - HOLD_MS;
    this.#write(this.#waiting.filter(({ atMs }) => atMs <= untilMs).length);
    const earliestMs = this.#waiting[0]?.atMs;
    if (earliestMs !== undefined) this.#cancelTimer = this.#clock.after(earliestMs - untilMs, () => this.#writeDue());
  }

  /**
   * Returns the present time. If the clock was set back, shifts the times of earlier lines too. Otherwise a line would
   * wait until the clock reaches its time again.
   */
  #now(): number {
    const nowMs = this.#clock.now();
    const backMs = this.#lastNowMs - nowMs;
    this.#lastNowMs = nowMs;
    if (backMs > 0) {
      this.#waiting = this.#waiting.map((line) => ({ ...line, atMs: line.atMs - backMs }));
      for (const [source, atMs] of this.#latestMs) this.#latestMs.set(source, atMs - backMs);
    }
    return nowMs;
  }

  /** Writes this number of lines, beginning with the earliest. */
  #write(count: number): void {
    this.#waiting.sort((a, b) => a.atMs - b.atMs);
    for (const { write } of this.#waiting.splice(0, count)) write();
  }
}
