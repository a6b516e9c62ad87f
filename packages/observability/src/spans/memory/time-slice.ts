import { setImmediate as nextTurn } from "node:timers/promises";

/** Maximum time that a search may use in one turn of the event loop, in milliseconds: calls wait for its end. */
const TURN_MS = 0.5;
/** Items between two readings of the clock. */
const ITEMS_PER_READING = 8;

/** Divides the work of a search into turns of the event loop, so that calls are not delayed. */
export class TimeSlice {
  #endMs = performance.now() + TURN_MS;
  #items = 0;

  /** Call it once for each item of the work. Returns true if the rest should wait for the next turn. */
  isOver(): boolean {
    this.#items += 1;
    return this.#items % ITEMS_PER_READING === 0 && performance.now() >= this.#endMs;
  }

  /** Lets other work run, and begins a new turn. */
  async next(): Promise<void> {
    await nextTurn();
    this.#endMs = performance.now() + TURN_MS;
  }
}
