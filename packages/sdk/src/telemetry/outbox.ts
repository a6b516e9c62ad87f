import type { Clock } from "../clock.ts";

/** Entries wait so long for company before they are sent. */
export const FLUSH_AFTER_MS = 100;
/** So many are sent at once. */
export const BATCH_ENTRIES = 64;
/** Bounds of what waits; beyond them the oldest give way. */
export const MAX_ENTRIES = 1000;
export const MAX_CHARS = 1024 * 1024;

export interface OutboxOptions {
  readonly clock: Clock;
  /** Takes a batch to the socket; false when it cannot just now, and the entries go on waiting. */
  readonly send: (entries: readonly string[]) => boolean;
  /** So many had to give way since entries last went out. */
  readonly lost: (count: number) => void;
}

/** Entries as JSON text on their way to the engine: batched, bounded, never in anybody's way. */
export class Outbox {
  readonly #options: OutboxOptions;
  #isOpen = false;
  #entries: string[] = [];
  #chars = 0;
  #dropped = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  add(entry: string): void {
    this.#entries.push(entry);
    this.#chars += entry.length;
    if (this.#entries.length > MAX_ENTRIES || this.#chars > MAX_CHARS) this.#makeRoom();
    if (!this.#isOpen) return;
    if (this.#entries.length % BATCH_ENTRIES === 0) this.flush();
    else this.#arm();
  }

  /** The engine takes entries from now on. */
  open(): void {
    this.#isOpen = true;
    this.flush();
  }

  /** The engine is gone: entries wait for the next one. */
  close(): void {
    this.#isOpen = false;
    this.#disarm();
  }

  /** Sends what waits, as far as the socket takes it. */
  flush(): void {
    this.#disarm();
    if (!this.#isOpen) return;
    while (this.#entries.length > 0) {
      const batch = this.#entries.slice(0, BATCH_ENTRIES);
      if (!this.#options.send(batch)) {
        this.#arm();
        return;
      }
      this.#entries = this.#entries.slice(BATCH_ENTRIES);
      for (const entry of batch) this.#chars -= entry.length;
      this.#tellDropped();
    }
  }

  #makeRoom(): void {
    // By more than one, so that a full outbox does not move all its entries for each that comes.
    let count = 0;
    const leaveChars = MAX_CHARS - MAX_CHARS / 8;
    while (count < this.#entries.length && (this.#entries.length - count > MAX_ENTRIES - BATCH_ENTRIES || this.#chars > leaveChars)) {
      this.#chars -= (this.#entries[count] as string).length;
      count++;
    }
    this.#entries = this.#entries.slice(count);
    this.#dropped += count;
  }

  #tellDropped(): void {
    if (this.#dropped === 0) return;
    const count = this.#dropped;
    this.#dropped = 0;
    this.#options.lost(count);
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #arm(): void {
    this.#cancelTimer ??= this.#options.clock.after(
      FLUSH_AFTER_MS,
      () => {
        this.#cancelTimer = undefined;
        this.flush();
      },
      { background: true },
    );
  }
}
