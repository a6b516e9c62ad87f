import type { Clock } from "../clock.ts";

/**
 * The engine sends a message at least every 10 s. If nothing arrives for 19 s, the connection counts as dead. This is
 * detected 25 s after the last message at the latest.
 */
const SILENCE_LIMIT_MS = 19_000;
const PING_AFTER_MS = 11_000;
/**
 * Minimum time that the engine has to respond to a ping, in milliseconds. It is needed because a process that was
 * suspended checks late, and its own pause must not count as silence of the engine.
 */
const PONG_TIMEOUT_MS = 8_000;
const CHECK_EVERY_MS = 4_000;

/** Detects a connection that is dead although it was never closed. */
export class LivenessCheck {
  readonly #clock: Clock;
  readonly #ping: () => void;
  readonly #onDead: (silentMs: number) => void;
  #receivedMs = 0;
  #pingedMs: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: {
    readonly clock: Clock;
    readonly ping: () => void;
    readonly onDead: (silentMs: number) => void;
  }) {
    this.#clock = options.clock;
    this.#ping = options.ping;
    this.#onDead = options.onDead;
  }

  start(): void {
    this.received();
    this.#cancel?.();
    this.#cancel = this.#clock.after(CHECK_EVERY_MS, () => this.#check());
  }

  received(): void {
    this.#receivedMs = this.#clock.monotonicMs();
    this.#pingedMs = undefined;
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #check(): void {
    const nowMs = this.#clock.monotonicMs();
    const silentMs = nowMs - this.#receivedMs;
    this.#cancel = this.#clock.after(CHECK_EVERY_MS, () => this.#check());
    if (silentMs < PING_AFTER_MS) return;
    if (this.#pingedMs === undefined) {
      this.#pingedMs = nowMs;
      this.#ping();
    } else if (silentMs >= SILENCE_LIMIT_MS && nowMs - this.#pingedMs >= PONG_TIMEOUT_MS) {
      this.stop();
      this.#onDead(silentMs);
    }
  }
}
