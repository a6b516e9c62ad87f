import type { Clock } from "../../kernel/clock.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { LogDurability } from "./check-server.ts";

/** Interval at which the servers are asked again until all of them report that they sync, in milliseconds. */
const ASK_EVERY_MS = 5_000;

export interface DurabilityWatchParts {
  /** Asks the servers. Never rejects. */
  readonly ask: () => Promise<LogDurability>;
  /** Calls the listener each time a server can be reached again. */
  readonly onUp: (listener: () => void) => Undo;
  readonly clock: Clock;
}

/**
 * Keeps the durability up to date. The servers are asked at the start, after each loss of the connection, and
 * repeatedly while the durability is relaxed.
 */
export class DurabilityWatch {
  readonly #parts: DurabilityWatchParts;
  #last: LogDurability;
  #isAsking = false;
  #mustAskAgain = false;
  #isStopped = false;
  #cancelTimer = (): void => {};
  readonly #stopListening: Undo;

  private constructor(parts: DurabilityWatchParts, first: LogDurability) {
    this.#parts = parts;
    this.#last = first;
    this.#stopListening = parts.onUp(() => this.#ask());
    this.#plan();
  }

  static async start(parts: DurabilityWatchParts): Promise<DurabilityWatch> {
    return new DurabilityWatch(parts, await parts.ask());
  }

  get last(): LogDurability {
    return this.#last;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
    this.#stopListening();
  }

  #ask(): void {
    // Ask again after the running request, because it may have reached the servers of the previous connection.
    this.#mustAskAgain = this.#isAsking;
    if (this.#isAsking || this.#isStopped) return;
    this.#isAsking = true;
    this.#cancelTimer();
    void this.#parts.ask().then((answer) => {
      this.#isAsking = false;
      this.#last = answer;
      if (this.#mustAskAgain) this.#ask();
      else this.#plan();
    });
  }

  #plan(): void {
    if (this.#isStopped || this.#last.durability === "durable") return;
    this.#cancelTimer = this.#parts.clock.after(ASK_EVERY_MS, () => this.#ask());
  }
}
