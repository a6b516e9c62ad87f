import type { Clock } from "../kernel/clock.ts";
import { ManualTimers } from "./manual-timers.ts";

/** 1 January 2026, 00:00 UTC. */
const DEFAULT_START_MS = Date.UTC(2026, 0, 1);
/** Turns of the event loop after each timer, so that what it started gets on, and may set further timers in the span. */
const TURNS = 5;

/** Time for the modules of a test engine that stands still until a test moves it on. Made by `manualClock`. */
export interface ManualClock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Moves on by `ms`, timer by timer, each at its time; what a timer starts gets a few turns of the event loop before the next. What it does
   * beyond that (answers over sockets, writes to the disk) goes on afterwards: await its effect.
   */
  advance(ms: number): Promise<void>;
}

/** The whole of it, for the engine. */
export class TestClock implements ManualClock, Clock {
  readonly #timers: ManualTimers;
  #tail: Promise<void> = Promise.resolve();

  constructor(startMs: number) {
    this.#timers = new ManualTimers(startMs);
  }

  now(): number {
    return this.#timers.now();
  }

  monotonic(): number {
    return this.#timers.monotonic();
  }

  after(ms: number, action: () => void): () => void {
    if (ms > 0) return this.#timers.after(ms, action);
    // What is due already needs no time to pass.
    const immediate = setImmediate(action);
    return () => clearImmediate(immediate);
  }

  advance(ms: number): Promise<void> {
    if (!(Number.isFinite(ms) && ms >= 0)) return Promise.reject(new TypeError(`a clock moves on by a number of milliseconds, not by ${String(ms)}`));
    // One after the other, so that two of them never count the same time.
    const moved = this.#tail.then(() => this.#move(ms));
    this.#tail = moved.catch(() => {});
    return moved;
  }

  async #move(ms: number): Promise<void> {
    const until = this.#timers.monotonic() + ms;
    do await turns();
    while (this.#timers.step(until));
    await turns();
  }
}

/** `startMs`: where time begins, in milliseconds since 1970. Default 1 January 2026, 00:00 UTC. */
export function manualClock(startMs: number = DEFAULT_START_MS): ManualClock {
  return new TestClock(startMs);
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
