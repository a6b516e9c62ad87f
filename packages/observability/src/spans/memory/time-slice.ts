import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Maximum time that a search may use in one turn of the event loop, in milliseconds. It is short, because calls wait
 * for the end of the turn.
 */
const TURN_MS = 0.5;
/** Number of items between two reads of the clock. */
const ITEMS_PER_READING = 8;

/** Divides the work of a search into several turns of the event loop, so that calls are not delayed. */
export class TimeSlice {
  #endMs = performance.now() + TURN_MS;
  #items = 0;

  /** Must be called once for each item. Returns true if the remaining items should wait for the next turn. */
  isOver(): boolean {
    this.#items += 1;
    return this.#items % ITEMS_PER_READING === 0 && performance.now() >= this.#endMs;
  }

  /** Lets other work run. Then begins a new turn. */
  async next(): Promise<void> {
    await nextTurn();
    this.#endMs = performance.now() + TURN_MS;
  }
}
