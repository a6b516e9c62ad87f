interface Timer {
  readonly dueAt: number;
  readonly action: () => void;
}

/** A clock that only moves on demand, with its timers. */
export class ManualTimers {
  readonly #timers = new Set<Timer>();
  #offset: number;
  #monotonic = 0;

  constructor(startMs: number) {
    this.#offset = startMs;
  }

  now(): number {
    return this.#offset + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { dueAt: this.#monotonic + ms, action };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Sets the wall clock without moving the monotonic one: a clock jump. */
  jumpTo(epochMs: number): void {
    this.#offset = epochMs - this.#monotonic;
  }

  /**
   * Moves to the earliest timer that is due by `until`, and runs it. Returns false if there is none; the time is then
   * `until`.
   */
  step(until: number): boolean {
    let earliest: Timer | undefined;
    for (const timer of this.#timers)
      if (timer.dueAt <= until && (earliest === undefined || timer.dueAt < earliest.dueAt)) earliest = timer;
    this.#monotonic = Math.max(this.#monotonic, earliest?.dueAt ?? until);
    if (earliest === undefined) return false;
    this.#timers.delete(earliest);
    earliest.action();
    return true;
  }
}
