import type { Clock } from "../kernel/clock.ts";
import { ManualTimers } from "./manual-timers.ts";

/** 1 January 2026, 00:00 UTC. */
const DEFAULT_START_MS = Date.UTC(2026, 0, 1);
/** Turns of the event loop after each timer, so that its action can proceed and set further timers in the interval. */
const TURNS = 5;

/** A clock for the modules of a test engine that only moves when a test advances it. Created by `manualClock`. */
export interface ManualClock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Advances by `ms`, timer by timer in order of time. After each timer the event loop runs a few turns. Longer work of
   * a timer (socket I/O, disk writes) continues afterwards: await its effect.
   */
  advance(ms: number): Promise<void>;
}

/** The complete clock, for the engine. */
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
    // A timer that is already due needs no time to pass.
    const immediate = setImmediate(action);
    return () => clearImmediate(immediate);
  }

  advance(ms: number): Promise<void> {
    if (!(Number.isFinite(ms) && ms >= 0))
      return Promise.reject(new TypeError(`a clock moves on by a number of milliseconds, not by ${String(ms)}`));
    // One after the other, so that two calls never count the same time.
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

/** `startMs`: the initial time, in milliseconds since 1970. Default 1 January 2026, 00:00 UTC. */
export function manualClock(startMs: number = DEFAULT_START_MS): ManualClock {
  return new TestClock(startMs);
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
