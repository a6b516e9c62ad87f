import { type Due, DueQueue } from "../../collections/due-queue.ts";
import type { Clock } from "../../kernel/clock.ts";

/** The wall clock is looked at so often while anything waits: it may have been set. */
const LOOK_MS = 1_000;
/** Calls `ring` for each thing when its time on the wall clock has come, however that clock is set. One timer for all of them. */
export class Alarm<Thing extends Due> {
  readonly #clock: Clock;
  readonly #ring: (thing: Thing) => void;
  readonly #queue = new DueQueue<Thing>();
  #cancel: (() => void) | undefined;
  /** Monotonic time of the timer. */
  #timerAt = 0;
  #isRinging = false;

  constructor(options: { readonly clock: Clock; readonly ring: (thing: Thing) => void }) {
    this.#clock = options.clock;
    this.#ring = options.ring;
  }

  /** Rings once, at `dueAt`, instead of when it would have; at once, in a turn of its own, when that has passed. */
  set(thing: Thing, dueAt: number): void {
    this.#queue.set(thing, dueAt);
    this.#arm();
  }

  delete(thing: Thing): void {
    this.#queue.delete(thing);
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = () => {};
    this.#timerAt = Number.NEGATIVE_INFINITY;
  }

  #arm(): void {
    const { first } = this.#queue;
    if (this.#isRinging || first === undefined) return;
    const delay = Math.min(LOOK_MS, Math.max(0, Math.ceil(first.dueAt - this.#clock.now())));
    const timerAt = this.#clock.monotonic() + delay;
    if (this.#cancel !== undefined && this.#timerAt <= timerAt) return;
    this.#cancel?.();
    this.#timerAt = timerAt;
    this.#cancel = this.#clock.after(delay, () => this.#look());
  }

  #look(): void {
    this.#cancel = undefined;
    this.#isRinging = true;
    const now = this.#clock.now();
    for (let thing = this.#queue.first; thing !== undefined && thing.dueAt <= now; thing = this.#queue.first) {
      this.#queue.delete(thing);
      this.#ring(thing);
    }
    this.#isRinging = false;
    this.#arm();
  }
}
