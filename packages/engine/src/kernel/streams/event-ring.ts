import type { NumberedEvent } from "./numbered-event.ts";

/** What is kept of one group for those who come back: so many events, and so many bytes of their data. */
const MAX_EVENTS = 1_000;
const MAX_BYTES = 1024 * 1024;
/** What an event holds of memory besides its data and its id, in bytes, about. */
const OVERHEAD_BYTES = 200;
/** Slots that were emptied at the front before the array is cut. */
const CUT_AT = 1_024;

/** The latest events of one group, numbered without a gap. */
export class EventRing {
  #events: NumberedEvent[] = [];
  #head = 0;
  #bytes = 0;
  #heldBytes = 0;
  /** Number of the latest event that is not held: what comes behind it is here. */
  #floor: number;

  constructor(floor: number) {
    this.#floor = floor;
  }

  /** Of data. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Of memory, about: many small events are mostly overhead. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  push(event: NumberedEvent): void {
    this.#events.push(event);
    this.#bytes += event.bytes;
    this.#heldBytes += heldBy(event);
    while (this.#bytes > MAX_BYTES || this.#events.length - this.#head > MAX_EVENTS) this.#dropFirst();
    if (this.#head < CUT_AT) return;
    this.#events = this.#events.slice(this.#head);
    this.#head = 0;
  }

  /** What came after that number, in order; undefined when not all of it is here. */
  after(seq: number): readonly NumberedEvent[] | undefined {
    if (seq < this.#floor || seq > this.#floor + this.#events.length - this.#head) return undefined;
    return this.#events.slice(this.#head + seq - this.#floor);
  }

  clear(): void {
    this.#floor += this.#events.length - this.#head;
    this.#events = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#heldBytes = 0;
  }

  /** A number without an event: nobody gets from before it to behind it. */
  skip(): void {
    this.clear();
    this.#floor++;
  }

  #dropFirst(): void {
    const first = this.#events[this.#head] as NumberedEvent;
    // The slot must not hold on to the data.
    delete this.#events[this.#head];
    this.#head++;
    this.#floor++;
    this.#bytes -= first.bytes;
    this.#heldBytes -= heldBy(first);
  }
}

function heldBy({ bytes, id }: NumberedEvent): number {
  return bytes + (id?.length ?? 0) + OVERHEAD_BYTES;
}
