import type { Clock } from "../../kernel/clock.ts";
import { type Log, LogChanged, MAX_ENTRY_BYTES } from "../log.ts";
import type { BatchTime } from "../log-time.ts";
import { ENTRY_VERSION, type EntryHeader, encodeEntry, entryId } from "./entry.ts";

/** Pauses between attempts to append an entry, in milliseconds. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;
/** Maximum size of the requests in one entry, in bytes. The rest of the entry is reserved for its header. */
export const MAX_BODY_BYTES = MAX_ENTRY_BYTES - 1_024;

export interface LogWriterParts {
  readonly log: Log;
  readonly clock: Clock;
  readonly run: string;
  /** Called when an entry was stored, with its number and position. */
  readonly onAppended: (n: number, position: number) => void;
  readonly onChanged: (error: LogChanged) => void;
}

/**
 * Appends the entries of one run, one after the other. Repeats each append until the entry is in the log, for two
 * reasons: the outcome of an attempt is unknown until the entry is read back; and a later entry must not come before an
 * earlier one.
 */
export class LogWriter {
  readonly #parts: LogWriterParts;
  #n = 0;
  /** Highest number of an own entry that was read back from the log. */
  #seen = 0;
  #onSeen: (() => void) | undefined;
  #isStopped = false;

  constructor(parts: LogWriterParts) {
    this.#parts = parts;
  }

  /**
   * Appends requests as one entry, or as several parts. Returns the id of the last entry without waiting for the
   * append.
   */
  write(kind: "requests" | "join", { now, wall }: BatchTime, body: string): string {
    const bytes = Buffer.from(body);
    const entries: { readonly n: number; readonly id: string; readonly bytes: Uint8Array }[] = [];
    for (let from = 0; from === 0 || from < bytes.length; from += MAX_BODY_BYTES) {
      this.#n += 1;
      const isLast = from + MAX_BODY_BYTES >= bytes.length;
      const { run } = this.#parts;
      const header: EntryHeader = { v: ENTRY_VERSION, run, n: this.#n, now, wall, kind: isLast ? kind : "part" };
      const encoded = encodeEntry(header, bytes.subarray(from, from + MAX_BODY_BYTES));
      entries.push({ n: this.#n, id: entryId(header), bytes: encoded });
    }
    void this.#appendAll(entries);
    return entryId({ run: this.#parts.run, n: this.#n });
  }

  /** Must be called for each own entry that was read from the log. It ends the append of that entry. */
  noteSeen(n: number): void {
    this.#seen = Math.max(this.#seen, n);
    this.#onSeen?.();
  }

  /** Stops all attempts to append. */
  stop(): void {
    this.#isStopped = true;
    this.#onSeen?.();
  }

  async #appendAll(entries: readonly { readonly n: number; readonly id: string; readonly bytes: Uint8Array }[]) {
    for (const { n, id, bytes } of entries) {
      for (let pauseMs = MIN_PAUSE_MS; !this.#isDone(n); pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
        if (await this.#append(n, id, bytes)) break;
        await this.#pause(n, pauseMs);
      }
    }
  }

  #isDone(n: number): boolean {
    return this.#isStopped || this.#seen >= n;
  }

  /** Resolves with true if the entry is in the log: its append was acknowledged, or it was read back. */
  async #append(n: number, id: string, bytes: Uint8Array): Promise<boolean> {
    const { log, onAppended, onChanged } = this.#parts;
    const acknowledged = log.append(id, bytes).then(
      (position) => {
        if (!this.#isStopped) onAppended(n, position);
        return true;
      },
      (error: unknown) => {
        if (error instanceof LogChanged && !this.#isStopped) onChanged(error);
        return false;
      },
    );
    return Promise.race([acknowledged, this.#untilDone(n).then(() => true)]);
  }

  #pause(n: number, ms: number): Promise<unknown> {
    return Promise.race([new Promise<void>((resolve) => this.#parts.clock.after(ms, resolve)), this.#untilDone(n)]);
  }

  #untilDone(n: number): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (this.#isDone(n)) resolve();
      };
      this.#onSeen = check;
      check();
    });
  }
}
