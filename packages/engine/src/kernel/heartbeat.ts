import type { Clock } from "./clock.ts";

/** Interval between two beats of a connection, in milliseconds. */
const BEAT_EVERY_MS = 2_500;
/** A ping is sent at every fourth heartbeat: every 10 s. */
export const BEATS_PER_PING = 4;
/** A peer that sends nothing for this long is disconnected, in milliseconds. Checked at each beat, so within 25 s. */
export const DEAD_AFTER_MS = 22_500;
/**
 * Number of parts that connections are spread over, so that ten thousand pings are not sent in one turn of the event
 * loop.
 */
const PARTS = 10;

export interface Beating {
  beat(): void;
}

/**
 * Calls `beat` of every connection at a fixed interval. One timer serves all and runs only while there are connections.
 */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #parts: Set<Beating>[] = Array.from({ length: PARTS }, () => new Set());
  #next = 0;
  #running = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(connection: Beating): void {
    // Add the connection to the part that was served last, so that its first beat comes after a whole interval.
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
