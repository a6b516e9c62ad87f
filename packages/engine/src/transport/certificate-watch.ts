import { stat } from "node:fs/promises";
import { type Clock, every } from "../kernel/clock.ts";
import type { Listener } from "./listener.ts";

/** How often the files are looked at, in milliseconds. By their times: a watch of a folder misses what a link in it leads to elsewhere. */
export const LOOK_EVERY_MS = 60_000;

export interface CertificateWatchOptions {
  readonly clock: Clock;
  readonly listeners: readonly Pick<Listener, "tlsFiles">[];
  /** Some listener's files are others than at the last look. */
  readonly onRenewed: () => void;
}

/**
 * Notices that certificate files were renewed where they lie. What cannot be read or does not fit together is told once and tried again when
 * the files change again, so that a renewal may be caught between its two writes.
 */
export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  #seen: string | undefined;
  #isLooking = false;

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
  }

  /** Looks at once, for what to compare with, and then every minute. The undo stops that. */
  start(): () => void {
    // `look` never rejects: what cannot be looked at is part of what is seen.
    const look = (): void => void this.look();
    look();
    return every(this.#options.clock, LOOK_EVERY_MS, look);
  }

  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const files = this.#options.listeners.flatMap(({ tlsFiles }) => (tlsFiles === undefined ? [] : Object.values(tlsFiles)));
      const now = JSON.stringify(await Promise.all(files.map(stateOf)));
      const isRenewed = this.#seen !== undefined && this.#seen !== now;
      this.#seen = now;
      if (isRenewed) this.#options.onRenewed();
    } finally {
      this.#isLooking = false;
    }
  }
}

async function stateOf(file: string): Promise<readonly unknown[]> {
  try {
    const { mtimeMs, size, ino } = await stat(file);
    return [file, mtimeMs, size, ino];
  } catch (error) {
    return [file, (error as NodeJS.ErrnoException).code];
  }
}
