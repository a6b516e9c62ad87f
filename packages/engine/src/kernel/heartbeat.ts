import type { Clock } from "./clock.ts";

/** How often each connection is looked after, in milliseconds. */
const BEAT_EVERY_MS = 2_500;
/** Connections are spread over so many parts of that time, so that ten thousand pings do not leave in one turn of the loop. */
const PARTS = 10;

export interface Beating {
  beat(): void;
}

/** Looks after every connection at a steady pace with one timer, which runs only while there is one. */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #parts: Set<Beating>[] = Array.from({ length: PARTS }, () => new Set());
  #next = 0;
  #running = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(connection: Beating): void {
    // The part whose turn has just been: the first beat comes after a whole interval, as any other.
    this.#parts[(this.#next + PARTS - 1) % PARTS]?.add(connection);
    if (!this.#running) this.#arm();
  }

  remove(connection: Beating): void {
    for (const part of this.#parts) if (part.delete(connection)) return;
  }

  #arm(): void {
    this.#running = true;
    this.#clock.after(BEAT_EVERY_MS / PARTS, () => {
      for (const connection of this.#parts[this.#next] ?? []) connection.beat();
      this.#next = (this.#next + 1) % PARTS;
      if (this.#parts.some((part) => part.size > 0)) this.#arm();
      else this.#running = false;
    });
  }
}
