import { isIPv6 } from "node:net";

export interface RateLimitSettings {
  /** How many requests of one client in `perMs`. */
  readonly requests: number;
  readonly perMs: number;
}

/** Clients that are remembered; over that the one seen first is forgotten, which forgives it what it used. */
const MAX_CLIENTS = 10_000;

/**
 * Limits the requests of each client. One number is kept for each: the time at which it would have used up nothing
 * (generic cell rate algorithm), so that a burst of `requests` is let through and then one each `perMs / requests`.
 */
export class RateLimiter {
  readonly #emptyAt = new Map<string, number>();

  get size(): number {
    return this.#emptyAt.size;
  }

  /** Counts one request. Returns 0 when it may pass, else after how many milliseconds the client may try again. */
  take(client: string, { requests, perMs }: RateLimitSettings, nowMs: number): number {
    const key = clientKey(client);
    const step = perMs / requests;
    const emptyAt = Math.max(this.#emptyAt.get(key) ?? 0, nowMs);
    const waitMs = emptyAt + step - perMs - nowMs;
    // The sums of many steps are a little off.
    if (waitMs > 1e-6 * perMs) return waitMs;
    // Written anew at the end, so that the first in the table is the one that was not let through for longest.
    this.#emptyAt.delete(key);
    if (this.#emptyAt.size >= MAX_CLIENTS) this.#forgetFirst();
    this.#emptyAt.set(key, emptyAt + step);
    return 0;
  }

  #forgetFirst(): void {
    const [first] = this.#emptyAt.keys();
    if (first !== undefined) this.#emptyAt.delete(first);
  }
}

/** One household or machine owns a whole /64 of IPv6 and may change its address at will. */
function clientKey(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return [...left, ...Array<string>(zeros).fill("0"), ...right].slice(0, 4).join(":");
}
