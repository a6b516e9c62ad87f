import type { Clock } from "../../../kernel/clock.ts";

/** Minimum rate of a body, in bytes per second. Only the time in which the engine waits for the client counts. */
export const MIN_BODY_RATE = 1024;

/**
 * Minimum time between two restarts of a timeout, in milliseconds. For a timeout under 4 s, the minimum is a quarter of
 * the timeout.
 */
const RESTART_EVERY_MS = 1_000;

export interface PaceOptions {
  readonly clock: Clock;
  /** The timeout to restart. */
  readonly timeoutMs: number;
  /** Called when enough bytes have arrived since the last call. Restarts the timeout. */
  onMoved(): void;
}

/**
 * Restarts a timeout as long as a body keeps moving. The rate is checked for each interval between two restarts,
 * because a check of the whole body would allow a fast start and a slow rest. In each interval the client must send at
 * least `MIN_BODY_RATE` for the time in which the engine waited for the client. The time that the reader of the body
 * needs does not count. The cost of each piece is two additions and a read of the clock.
 */
export class BodyPace {
  readonly #options: PaceOptions;
  readonly #restartEveryMs: number;
  #restartedAt: number;
  #waitingSince: number | undefined;
  #waitedMs = 0;
  #bytes = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
    this.#restartEveryMs = Math.min(RESTART_EVERY_MS, options.timeoutMs / 4);
    this.#restartedAt = options.clock.monotonic();
  }

  /** Starts to wait for the client. */
  startWaiting(): void {
    this.#waitingSince = this.#options.clock.monotonic();
  }

  /** Counts received bytes. */
  received(bytes: number): void {
    this.#bytes += bytes;
    if (this.#waitingSince !== undefined) this.#waitedMs += this.#options.clock.monotonic() - this.#waitingSince;
    this.#waitingSince = undefined;
  }

  /** The received bytes have been handed on. */
  handedOn(): void {
    if (this.#options.clock.monotonic() - this.#restartedAt >= this.#restartEveryMs) this.#restartIfMoving();
  }

  /** The whole body has been received and handed on. */
  ended(): void {
    this.received(0);
    this.#restartIfMoving();
  }

  #restartIfMoving(): void {
    if (this.#bytes === 0 || this.#bytes < (MIN_BODY_RATE * this.#waitedMs) / 1_000) return;
    this.#restartedAt = this.#options.clock.monotonic();
    this.#waitedMs = 0;
    this.#bytes = 0;
    this.#options.onMoved();
  }
}

/**
 * Runs `action` at the deadline. `deadlineAt` is called again when the timer fires, because the deadline may have moved
 * to a later time. Returns a function that cancels the timer.
 */
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
