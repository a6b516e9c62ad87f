import type { Clock } from "../clock.ts";

/** Maximum time for which entries wait until a batch is full, in milliseconds. */
export const FLUSH_AFTER_MS = 100;
/** Number of entries per batch. */
export const BATCH_ENTRIES = 64;
/** Maximum number of entries in the buffer. If there are more, the oldest are dropped. */
export const MAX_ENTRIES = 1000;
export const MAX_CHARS = 1024 * 1024;

export interface OutboxOptions {
  readonly clock: Clock;
  /**
   * Passes a batch to the socket. Returns false if the socket cannot accept it now; the entries then stay in the
   * buffer.
   */
  readonly send: (entries: readonly string[]) => boolean;
  /** Reports the number of entries dropped since the last sent batch. */
  readonly lost: (count: number) => void;
}

/** A bounded buffer that sends JSON entries to the engine in batches. */
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

  /** Starts sending. Called when the engine is connected. */
  open(): void {
    this.#isOpen = true;
    this.flush();
  }

  /** Stops sending. Called when the engine is disconnected. Entries then wait for the next connection. */
  close(): void {
    this.#isOpen = false;
    this.#disarm();
  }

  /** Sends the buffered entries, as far as the socket accepts them. */
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
      this.#reportDropped();
    }
  }

  #makeRoom(): void {
    // Drops several entries at once. Otherwise a full buffer would be copied for each new entry.
    let count = 0;
    const leaveChars = MAX_CHARS - MAX_CHARS / 8;
    while (
      count < this.#entries.length &&
      (this.#entries.length - count > MAX_ENTRIES - BATCH_ENTRIES || this.#chars > leaveChars)
    ) {
      this.#chars -= (this.#entries[count] as string).length;
      count++;
    }
    this.#entries = this.#entries.slice(count);
    this.#dropped += count;
  }

  #reportDropped(): void {
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
