import type { Clock } from "./clock.ts";
import type { Undo } from "./scope.ts";

/** How often each connection is looked after, in milliseconds. */
export const BEAT_EVERY_MS = 10_000;
/** Connections are spread over so many parts of that time, so that ten thousand pings do not leave in one turn of the loop. */
const PARTS = 20;

/** Looks after every connection at a steady pace with one timer, which runs only while there is one. */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #parts: Set<{ beat(): void }>[] = Array.from({ length: PARTS }, () => new Set());
  #size = 0;
  #part = 0;
  #running = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(connection: { beat(): void }): Undo {
    // The part whose turn has just been: the first beat comes after a whole interval, as any other.
    const part = this.#parts[(this.#part + PARTS - 1) % PARTS] as Set<{ beat(): void }>;
    part.add(connection);
    this.#size++;
    if (!this.#running) this.#next();
    return () => {
      if (part.delete(connection)) this.#size--;
    };
  }

  #next(): void {
    this.#running = true;
    this.#clock.after(BEAT_EVERY_MS / PARTS, () => {
      for (const connection of this.#parts[this.#part] ?? []) connection.beat();
      this.#part = (this.#part + 1) % PARTS;
      if (this.#size === 0) this.#running = false;
      else this.#next();
    });
  }
}
