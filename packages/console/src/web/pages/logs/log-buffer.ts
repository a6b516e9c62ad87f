import { isBefore, type Log } from "./log.ts";

/** Entries that a page keeps. */
export const MAX_LOGS = 100_000;

/** Entries in the order of time, each once, however they came. Lives outside React. */
export class LogBuffer {
  /** Oldest first. */
  #logs: Log[] = [];
  readonly #ids = new Set<string>();
  #listeners = new Set<() => void>();
  #received = 0;
  #dropped = 0;

  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  get size(): number {
    return this.#logs.length;
  }

  /** Live entries that were added, in all. */
  get received(): number {
    return this.#received;
  }

  /** Entries that the oldest had to give way for, in all. */
  get dropped(): number {
    return this.#dropped;
  }

  get newest(): Log | undefined {
    return this.#logs[this.#logs.length - 1];
  }

  /** Adds what came live, mostly newer than all; the oldest give way. */
  addLive(logs: readonly Log[]): void {
    for (const log of logs) {
      if (this.#ids.has(log.id)) continue;
      this.#ids.add(log.id);
      this.#received++;
      const { newest } = this;
      if (newest === undefined || isBefore(newest, log)) this.#logs.push(log);
      else this.#logs.splice(this.#placeOf(log), 0, log);
    }
    const over = this.#logs.length - MAX_LOGS;
    // In large steps: moving all for each entry would cost more than all else.
    if (over > MAX_LOGS / 50) {
      for (const log of this.#logs.slice(0, over)) this.#ids.delete(log.id);
      this.#logs = this.#logs.slice(over);
      this.#dropped += over;
    }
    this.#tell();
  }

  /** Adds a page of what is kept, newest first and older than most that is here. */
  addHistory(logs: readonly Log[]): void {
    const fresh = logs.filter(({ id }) => !this.#ids.has(id)).reverse();
    for (const { id } of fresh) this.#ids.add(id);
    const oldest = this.#logs[0];
    const last = fresh[fresh.length - 1];
    if (oldest === undefined || last === undefined || isBefore(last, oldest)) this.#logs = [...fresh, ...this.#logs];
    else for (const log of fresh) this.#logs.splice(this.#placeOf(log), 0, log);
    this.#tell();
  }

  clear(): void {
    this.#logs = [];
    this.#ids.clear();
    this.#tell();
  }

  /** Where an entry stands, or would: how many are before it. */
  #placeOf(log: Pick<Log, "timestamp_ms" | "id">): number {
    let [from, to] = [0, this.#logs.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (isBefore(this.#logs[middle] as Log, log)) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** Newest first; with `upTo` none that is newer than that entry. */
  view(upTo: Pick<Log, "timestamp_ms" | "id"> | undefined): readonly Log[] {
    if (upTo === undefined) return this.#logs.toReversed();
    const place = this.#placeOf(upTo);
    const holdsIt = this.#logs[place]?.id === upTo.id;
    return this.#logs.slice(0, place + (holdsIt ? 1 : 0)).reverse();
  }

  find(id: string): Log | undefined {
    return this.#ids.has(id) ? this.#logs.find((log) => log.id === id) : undefined;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
