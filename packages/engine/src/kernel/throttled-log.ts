import type { Clock } from "./clock.ts";
import type { LogFields, Logger } from "./logger.ts";

/** After the burst, a message of a source is logged once in this time, in milliseconds. */
const WINDOW_MS = 1_000;
/**
 * Number of lines of a source and message that are logged without delay, so that a few different mistakes are visible.
 */
const BURST = 10;
/** Maximum number of open windows. Further sources and messages share one window. */
const MAX_WINDOWS = 1_000;

interface Window {
  /** Number of lines that may still be logged without delay. */
  burst: number;
  /** Number of suppressed lines in this window, including the one that is logged at its end. */
  count: number;
  write: (more: LogFields) => void;
}

/**
 * Rate-limits warnings that a client can cause at any rate. Logs the first few lines at once, then one line a second
 * with the number of suppressed lines.
 */
export class ThrottledLog {
  readonly #clock: Clock;
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `source`: the cause of the warning, e.g. the id of a principal. */
  warn(log: Logger, source: string, message: string, fields: LogFields): void {
    const own = `${message} ${source}`;
    const key = this.#windows.size < MAX_WINDOWS || this.#windows.has(own) ? own : "others";
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
        this.#windows.delete(key);
        return;
      }
      // Log the last suppressed line with the number of the other suppressed lines.
      window.write({ suppressed: window.count - 1 });
      this.#open(key, { burst: 0, count: 0, write: window.write });
    });
  }
}
