import { backoffMs } from "@svc/protocol";
import { UNAVAILABLE_BACKOFF } from "../../deliveries/call-failure.ts";
import type { Clock } from "../../kernel/clock.ts";

/** Functions of one queue that may be parked at a time; from then on only jobs of functions that are there are taken. */
const MAX_PARKED = 1_000;

interface Parked {
  readonly cancel: () => void;
  readonly tries: number;
}

/** Functions that take no jobs at present. Their jobs stay in the store; those of others go on. */
export class Parking {
  readonly #parked = new Map<string, Parked>();
  /** How often in a row a function was parked. */
  readonly #tries = new Map<string, number>();
  readonly #clock: Pick<Clock, "after">;
  /** Whether there is any use in trying. */
  readonly #isThere: (key: string) => boolean;
  readonly #onFree: () => void;

  constructor(parts: { readonly clock: Pick<Clock, "after">; readonly isThere: (key: string) => boolean; readonly onFree: () => void }) {
    this.#clock = parts.clock;
    this.#isThere = parts.isThere;
    this.#onFree = parts.onFree;
  }

  keys(): string[] {
    return [...this.#parked.keys()];
  }

  /** There may be others that ought to be parked: what is not there must not even be tried. */
  get isCrowded(): boolean {
    return this.#parked.size >= MAX_PARKED;
  }

  has(key: string): boolean {
    return this.#parked.has(key);
  }

  /** Until it is freed, or for a while that grows each time. */
  park(key: string): void {
    if (this.#parked.has(key) || (this.isCrowded && !this.#isThere(key))) return;
    const tries = (this.#tries.get(key) ?? 0) + 1;
    this.#tries.set(key, tries);
    this.#put(key, tries);
    const [longest] = this.#parked.keys();
    if (this.#parked.size > MAX_PARKED && longest !== undefined) this.#displace(longest);
  }

  /** Something has changed about it. */
  free(key: string): void {
    const parked = this.#parked.get(key);
    if (parked === undefined) return;
    parked.cancel();
    this.#parked.delete(key);
    this.#onFree();
  }

  /** It took a job: the next time it is parked for a short while again. */
  served(key: string): void {
    this.#tries.delete(key);
  }

  clear(): void {
    for (const { cancel } of this.#parked.values()) cancel();
    this.#parked.clear();
    this.#tries.clear();
  }

  /** Freeing one that is not there would only have it tried and parked again, and another one displaced by that, without end. */
  #displace(key: string): void {
    this.#tries.delete(key);
    if (this.#isThere(key)) this.free(key);
    else {
      this.#parked.get(key)?.cancel();
      this.#parked.delete(key);
    }
  }

  #put(key: string, tries: number): void {
    const cancel = this.#clock.after(backoffMs(UNAVAILABLE_BACKOFF, tries), () => {
      // Nobody has told that it came; a look is cheap, and trying a job in vain is not.
      if (this.#isThere(key)) this.free(key);
      else this.#put(key, tries + 1);
    });
    this.#parked.set(key, { cancel, tries });
  }
}
