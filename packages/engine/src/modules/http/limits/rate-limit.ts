import { isIPv6 } from "node:net";

export interface RateLimitSettings {
  /** Maximum number of requests of one client in `perMs` milliseconds. */
  readonly requests: number;
  readonly perMs: number;
}

/**
 * Maximum number of stored clients. When it is reached, the least recently seen client is removed, which resets its
 * usage.
 */
const MAX_CLIENTS = 10_000;

/**
 * Limits the request rate of each client with the generic cell rate algorithm. It stores one time for each client: when
 * the client's usage will be zero again. This allows a burst of `requests`, and after the burst one request every
 * `perMs / requests` milliseconds.
 */
export class RateLimiter {
  readonly #emptyAt = new Map<string, number>();

  get size(): number {
    return this.#emptyAt.size;
  }

  /** Counts a request. Returns 0 if it is allowed, else the milliseconds after which the client may retry. */
  take(client: string, { requests, perMs }: RateLimitSettings, nowMs: number): number {
    const key = clientKey(client);
    const step = perMs / requests;
    const emptyAt = Math.max(this.#emptyAt.get(key) ?? 0, nowMs);
    const waitMs = emptyAt + step - perMs - nowMs;
    // Tolerates rounding errors of many additions.
    if (waitMs > 1e-6 * perMs) return waitMs;
    // Inserted again at the end, so that the first entry of the map is the least recently seen client.
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

/**
 * Returns the key under which a client is counted. For IPv6 it is the /64 network, because one household or machine
 * owns a whole /64 and can use any address in it.
 */
function clientKey(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return [...left, ...Array<string>(zeros).fill("0"), ...right].slice(0, 4).join(":");
}
