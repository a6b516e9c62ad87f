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
  #waiting: Item[] = [];
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, send: (part: readonly Item[]) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  /** Sends the first part at once, unless earlier items are still waiting. */
  add(items: readonly Item[]): void {
    this.#waiting = this.#waiting.concat(items);
    if (this.#cancel === undefined) this.#sendPart();
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
