import { type Due, DueQueue } from "../../collections/due-queue.ts";
import type { Clock } from "../../kernel/clock.ts";

/**
 * Maximum duration of the timer. The wall clock may be set, so it is read at least once in this interval while items
 * wait.
 */
const CHECK_EVERY_MS = 1_000;
/**
 * Calls `ring` for each item when the wall clock reaches the time of the item, even if the clock was set after `set`
 * was called. All items share one timer.
 */
export class Alarm<Item extends Due> {
  readonly #clock: Clock;
  readonly #ring: (item: Item) => void;
  readonly #queue = new DueQueue<Item>();
  #cancel: (() => void) | undefined;
  /** Monotonic time at which the timer fires. */
  #timerAt = 0;
  #isRinging = false;

  constructor(options: { readonly clock: Clock; readonly ring: (item: Item) => void }) {
    this.#clock = options.clock;
    this.#ring = options.ring;
  }

  /**
   * Rings once at `dueAt`, which replaces an earlier time of the item. If `dueAt` has passed, rings in a later turn of
   * the event loop.
   */
  set(item: Item, dueAt: number): void {
    this.#queue.set(item, dueAt);
    this.#arm();
  }

  delete(item: Item): void {
    this.#queue.delete(item);
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = () => {};
    this.#timerAt = Number.NEGATIVE_INFINITY;
  }

  #arm(): void {
    const { first } = this.#queue;
    if (this.#isRinging || first === undefined) return;
    const delay = Math.min(CHECK_EVERY_MS, Math.max(0, Math.ceil(first.dueAt - this.#clock.now())));
    const timerAt = this.#clock.monotonic() + delay;
    if (this.#cancel !== undefined && this.#timerAt <= timerAt) return;
    this.#cancel?.();
    this.#timerAt = timerAt;
    this.#cancel = this.#clock.after(delay, () => this.#ringDue());
  }

  #ringDue(): void {
    this.#cancel = undefined;
    this.#isRinging = true;
    const now = this.#clock.now();
    for (let item = this.#queue.first; item !== undefined && item.dueAt <= now; item = this.#queue.first) {
      this.#queue.delete(item);
      this.#ring(item);
    }
    this.#isRinging = false;
    this.#arm();
  }
}
