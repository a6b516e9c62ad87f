import type { Clock } from "../../../kernel/clock.ts";

/** Minimum rate of a body, in bytes per second of waiting for the client. */
export const MIN_BODY_RATE = 1024;

/**
 * Minimum time between two restarts of the timeout, in milliseconds. Short timeouts can restart four times within their
 * duration.
 */
const RESTART_EVERY_MS = 1_000;

export interface PaceOptions {
  readonly clock: Clock;
  /** The timeout to restart. */
  readonly timeoutMs: number;
  /** Called when the body has moved since the last call; restarts the timeout. */
  onMoved(): void;
}

/**
 * Checks that a streamed body keeps moving. Each interval is checked separately, so that a fast start does not allow a
 * slow rest: since the last restart the client must have sent `MIN_BODY_RATE` for the time that the engine waited for
 * it. Time that the reader takes does not count. Costs two additions and a clock read for each piece.
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

/** Runs `action` at the deadline, which may move later meanwhile. Returns a function that cancels it. */
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
