import { type Clock, every } from "../../kernel/clock.ts";
import type { Undo } from "../../kernel/scope.ts";

/**
 * A server that sends nothing for this time is reported as lost, in milliseconds. Each engine sends a message to all
 * engines, including itself, every second.
 */
export const SILENT_MS = 3_000;
const LOOK_EVERY_MS = 500;

/**
 * Measures how long nothing has been received from the servers. An engine receives at least its own messages to all
 * engines, one each second. The client itself notices a lost connection only after two pings without an answer.
 */
export class Silence {
  readonly #received: () => number;
  #last = 0;
  #looks = 0;
  readonly stop: Undo;

  /** `received` returns the number of messages received so far. */
  constructor(clock: Clock, received: () => number) {
    this.#received = received;
    this.stop = every(clock, LOOK_EVERY_MS, () => this.#look());
  }

  /**
   * Duration of the silence, in milliseconds. It is the number of checks without a new message times their interval,
   * because a suspended process does not check, and cannot receive anything either.
   */
  get ms(): number {
    return this.#looks * LOOK_EVERY_MS;
  }

  #look(): void {
    const received = this.#received();
    this.#looks = received === this.#last ? this.#looks + 1 : 0;
    this.#last = received;
  }
}
