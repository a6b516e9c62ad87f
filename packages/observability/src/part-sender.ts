import type { Clock } from "@svc-runtime/engine/module";

/** Maximum number of items in one part. */
export const MAX_PART = 50;

/**
 * Sends items in small parts. Each part is sent in its own turn of the event loop, because serializing and writing
 * hundreds of items at once would delay all calls that arrive meanwhile.
 */
export class PartSender<Item> {
  readonly #clock: Clock;
  readonly #send: (part: readonly Item[]) => void;
  readonly #max: number;
  #waiting: Item[] = [];
  #cancel: (() => void) | undefined;

  /** `max`: maximum number of items that wait. */
  constructor(clock: Clock, max: number, send: (part: readonly Item[]) => void) {
    this.#clock = clock;
    this.#max = max;
    this.#send = send;
  }

  /**
   * Sends the first part at once, unless earlier items are still waiting. Returns the number of items that were
   * dropped, because there was no room for them.
   */
  add(items: readonly Item[]): number {
    const added = items.slice(0, this.#max - this.#waiting.length);
    this.#waiting = this.#waiting.concat(added);
    if (this.#cancel === undefined) this.#sendPart();
    return items.length - added.length;
  }

  /** Drops the waiting items. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#waiting = [];
  }

  #sendPart(): void {
    const part = this.#waiting.slice(0, MAX_PART);
    this.#waiting = this.#waiting.slice(MAX_PART);
    if (this.#waiting.length > 0) {
      this.#cancel = this.#clock.after(0, () => {
        this.#cancel = undefined;
        this.#sendPart();
      });
    }
    if (part.length > 0) this.#send(part);
  }
}
