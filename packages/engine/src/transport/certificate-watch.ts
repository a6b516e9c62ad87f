import { stat } from "node:fs/promises";
import { type Clock, every } from "../kernel/clock.ts";
import type { Listener } from "./listener.ts";

/**
 * Interval of the checks, in milliseconds. The files are polled, because watching their folder would miss the change of
 * a file in another folder that is the target of a symbolic link.
 */
export const CHECK_EVERY_MS = 60_000;

export interface CertificateWatchOptions {
  readonly clock: Clock;
  readonly listeners: readonly Pick<Listener, "tlsFiles">[];
  /** Called when the files of a listener have changed since the last check. */
  readonly onRenewed: () => void;
}

/**
 * Detects renewed certificate files. If a check falls between the writes of the certificate and of the key, the
 * listener reports once that the files do not match. It reads them again after the next check, because they have
 * changed again.
 */
export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  #seen: string | undefined;
  #isChecking = false;

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
  }

  /** Records the current state of the files, and then checks every minute. Returns a function that stops the checks. */
  start(): () => void {
    // `check` never rejects, because `stateOf` returns the error code of a file that cannot be read.
    const check = (): void => void this.check();
    check();
    return every(this.#options.clock, CHECK_EVERY_MS, check);
  }

  async check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      const files = this.#options.listeners.flatMap(({ tlsFiles }) =>
        tlsFiles === undefined ? [] : Object.values(tlsFiles),
      );
      const now = JSON.stringify(await Promise.all(files.map(stateOf)));
      const isRenewed = this.#seen !== undefined && this.#seen !== now;
      this.#seen = now;
      if (isRenewed) this.#options.onRenewed();
    } finally {
      this.#isChecking = false;
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
