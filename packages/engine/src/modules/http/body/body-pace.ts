import type { Clock } from "../../../kernel/clock.ts";

/** Slowest pace at which a body counts as moving, in bytes per second of waiting for its client. */
export const MIN_BODY_RATE = 1024;

/** The timeout begins anew no more often than this, in milliseconds; for short timeouts, four times in each. */
const TELL_EVERY_MS = 1_000;

export interface PaceOptions {
  readonly clock: Clock;
  /** The timeout that is to begin anew. */
  readonly timeoutMs: number;
  /** The body has moved on since the last time. */
  onMoved(): void;
}

/**
 * Judges whether a body that is handed on as it comes keeps moving. Each stretch is judged by itself, so that no head start pays for
 * a trickle later: since the last time that it counted as moving, it must have brought `MIN_BODY_RATE` for the time that its client let us
 * wait. The time that its reader takes is not the client's. Two sums and a look at the clock for each piece.
 */
export class BodyPace {
  readonly #options: PaceOptions;
  readonly #tellEveryMs: number;
  #toldAt: number;
  #waitingSince: number | undefined;
  #waitedMs = 0;
  #bytes = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
    this.#tellEveryMs = Math.min(TELL_EVERY_MS, options.timeoutMs / 4);
    this.#toldAt = options.clock.monotonic();
  }

  /** From now on the client is waited for. */
  waits(): void {
    this.#waitingSince = this.#options.clock.monotonic();
  }

  /** So much has come. */
  came(bytes: number): void {
    this.#bytes += bytes;
    if (this.#waitingSince !== undefined) this.#waitedMs += this.#options.clock.monotonic() - this.#waitingSince;
    this.#waitingSince = undefined;
  }

  /** What has come has been handed on. */
  passed(): void {
    if (this.#options.clock.monotonic() - this.#toldAt >= this.#tellEveryMs) this.#tell();
  }

  /** All of it has come and has been handed on. */
  ended(): void {
    this.came(0);
    this.#tell();
  }

  #tell(): void {
    if (this.#bytes === 0 || this.#bytes < (MIN_BODY_RATE * this.#waitedMs) / 1_000) return;
    this.#toldAt = this.#options.clock.monotonic();
    this.#waitedMs = 0;
    this.#bytes = 0;
    this.#options.onMoved();
  }
}

/** Runs `action` when the deadline has come, which may have been moved on by then. Returns how to call it off. */
export function atDeadline(clock: Clock, deadlineAt: () => number, action: () => void): () => void {
  let cancel = arm();
  function arm(): () => void {
    return clock.after(Math.max(0, Math.ceil(deadlineAt() - clock.monotonic())), () => {
      if (deadlineAt() > clock.monotonic()) cancel = arm();
      else action();
    });
  }
  return () => cancel();
}
