import type { Clock } from "./clock.ts";

/** The engine sends something every 10 s. After so long without a sign, and at most 25 s after the last one, the connection counts as dead. */
const SILENCE_LIMIT_MS = 19_000;
const ASK_AFTER_MS = 11_000;
/** How long the engine has for an answer. A process that was suspended looks late, and must not take its own pause for the engine's. */
const ANSWER_TIME_MS = 8_000;
const LOOK_EVERY_MS = 4_000;

/** Notices that a connection is dead although it was never closed. */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #ask: () => void;
  readonly #dead: (silentMs: number) => void;
  #heardMs = 0;
  #askedMs: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: { readonly clock: Clock; readonly ask: () => void; readonly dead: (silentMs: number) => void }) {
    this.#clock = options.clock;
    this.#ask = options.ask;
    this.#dead = options.dead;
  }

  start(): void {
    this.heard();
    this.#cancel?.();
    this.#cancel = this.#clock.after(LOOK_EVERY_MS, () => this.#look());
  }

  heard(): void {
    this.#heardMs = this.#clock.monotonicMs();
    this.#askedMs = undefined;
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #look(): void {
    const nowMs = this.#clock.monotonicMs();
    const silentMs = nowMs - this.#heardMs;
    this.#cancel = this.#clock.after(LOOK_EVERY_MS, () => this.#look());
    if (silentMs < ASK_AFTER_MS) return;
    if (this.#askedMs === undefined) {
      this.#askedMs = nowMs;
      this.#ask();
    } else if (silentMs >= SILENCE_LIMIT_MS && nowMs - this.#askedMs >= ANSWER_TIME_MS) {
      this.stop();
      this.#dead(silentMs);
    }
  }
}
