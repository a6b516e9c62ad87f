import type { Clock } from "../../../kernel/clock.ts";
import type { Scheduler, SimulatedProcess } from "./scheduler.ts";

/** Wall clock at the start of a simulation, in milliseconds since 1970. */
export const EPOCH_MS = Date.UTC(2026, 0, 1);

/** The clock of one machine. Its wall clock may be wrong; its timers belong to the process that runs there. */
export class NodeClock implements Clock {
  /** How far the wall clock is ahead, in milliseconds. */
  skewMs = 0;
  readonly #scheduler: Scheduler;
  readonly #process: SimulatedProcess;

  constructor(scheduler: Scheduler, process: SimulatedProcess, skewMs: number) {
    this.#scheduler = scheduler;
    this.#process = process;
    this.skewMs = skewMs;
  }

  now(): number {
    return Math.floor(EPOCH_MS + this.#scheduler.now + this.skewMs);
  }

  monotonic(): number {
    return this.#scheduler.now;
  }

  after(ms: number, action: () => void): () => void {
    return this.#scheduler.after(ms, this.#process, "timer", action);
  }
}
