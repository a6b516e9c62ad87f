import type { NumberedEvent } from "./event-message.ts";

/** Maximum number of buffered events of one group, and maximum size of their data in bytes. */
const MAX_EVENTS = 1_000;
const MAX_BYTES = 1024 * 1024;
/** Approximate memory of an event in addition to its data and id, in bytes. */
const OVERHEAD_BYTES = 200;
/** The array is trimmed after this many slots at its front are empty. */
const CUT_AT = 1_024;

/** A buffer of the latest events of one group, numbered without gaps. */
export class EventRing {
  #events: NumberedEvent[] = [];
  #head = 0;
  #bytes = 0;
  #heldBytes = 0;
  /** Number of the latest event that is no longer buffered. */
  #floor: number;

  constructor(floor: number) {
    this.#floor = floor;
  }

  /** Size of the events' data, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Approximate memory of the events, in bytes. For small events it is much more than their data. */
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

  /** Returns the events after sequence number `seq`, in order; undefined if some of them are no longer buffered. */
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

  /** Uses up a sequence number without an event, so that no client can resume from an earlier number. */
  skip(): void {
    this.clear();
    this.#floor++;
  }

  #dropFirst(): void {
    const first = this.#events[this.#head] as NumberedEvent;
    // The slot is deleted, so that it does not keep the event in memory.
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
