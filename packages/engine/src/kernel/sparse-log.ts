import type { Clock } from "./clock.ts";
import type { LogFields, Logger } from "./logger.ts";

/** After the burst, one line for each source and message in this time, in milliseconds. */
const WINDOW_MS = 1_000;
/** Lines that are written at once, so that each of a few mistakes can be read. */
const BURST = 10;
/** Sources and messages that are followed at once. What comes beyond that is counted as one more source. */
const MAX_FOLLOWED = 1_000;

interface Window {
  /** Lines that may still be written at once. */
  burst: number;
  /** Lines that were left out. */
  count: number;
  write: (more: LogFields) => void;
}

/** Writes warnings that a client can cause as often as it likes: the first few at once, then one line a second with the number of those left out. */
export class SparseLog {
  readonly #clock: Clock;
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `source`: whose fault it is, e.g. the id of a principal. */
  warn(log: Logger, source: string, message: string, fields: LogFields): void {
    const own = `${message} ${source}`;
    const key = this.#windows.size < MAX_FOLLOWED || this.#windows.has(own) ? own : "others";
    const write = (more: LogFields): void => log.warn(message, { ...fields, ...more });
    const window = this.#windows.get(key);
    if (window === undefined) {
      write({});
      this.#open(key, { burst: BURST - 1, count: 0, write });
    } else if (window.burst > 0) {
      window.burst--;
      write({});
    } else {
      window.count++;
      window.write = write;
    }
  }

  #open(key: string, window: Window): void {
    this.#windows.set(key, window);
    this.#clock.after(WINDOW_MS, () => {
      if (window.count === 0) {
        // Quiet for a while.
        this.#windows.delete(key);
        return;
      }
      // The last of them stands for all.
      window.write({ leftOut: window.count - 1 });
      this.#open(key, { burst: 0, count: 0, write: window.write });
    });
  }
}
