import { isIPv6 } from "node:net";

/** Limits of failed logins: the number that is accepted at once, and the time after which one more is accepted. */
interface Limit {
  readonly burst: number;
  readonly intervalMs: number;
}

/** Limit for one address. */
const PER_ADDRESS: Limit = { burst: 10, intervalMs: 6_000 };
/**
 * Limit for all addresses together. It recovers within a second, so that a flood from many addresses cannot lock out
 * all users.
 */
const IN_TOTAL: Limit = { burst: 30, intervalMs: 100 };
const MAX_ADDRESSES = 10_000;

/**
 * Limits how often the console asks the engine about tokens that it does not know. Successful logins are not counted.
 * When the limit of an address is reached, one more attempt is possible after its interval, because all users behind a
 * reverse proxy have the same address.
 */
export class LoginLimits {
  readonly #now: () => number;
  /**
   * By address, the time at which all its failures are forgotten. The address with the least recent attempt comes
   * first.
   */
  readonly #emptyAtMs = new Map<string, number>();
  #totalEmptyAtMs = Number.NEGATIVE_INFINITY;

  /** `now` returns milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Counts an attempt as failed. Returns a function that removes it from the count. Throws TooManyAttempts if a limit
   * is reached.
   */
  take(address: string): () => void {
    const nowMs = this.#now();
    const network = networkOf(address);
    const ofAddress = this.#emptyAtMs.get(network) ?? Number.NEGATIVE_INFINITY;
    requireRoom(ofAddress - nowMs, PER_ADDRESS, "too many logins from this address failed");
    requireRoom(this.#totalEmptyAtMs - nowMs, IN_TOTAL, "too many logins failed");
    // The entry is deleted and set again, so that the address becomes the most recent one.
    this.#emptyAtMs.delete(network);
    this.#emptyAtMs.set(network, Math.max(ofAddress, nowMs) + PER_ADDRESS.intervalMs);
    this.#totalEmptyAtMs = Math.max(this.#totalEmptyAtMs, nowMs) + IN_TOTAL.intervalMs;
    if (this.#emptyAtMs.size > MAX_ADDRESSES) this.#forgetLeastRecent();
    return () => {
      const emptyAtMs = this.#emptyAtMs.get(network);
      if (emptyAtMs !== undefined) this.#emptyAtMs.set(network, emptyAtMs - PER_ADDRESS.intervalMs);
      this.#totalEmptyAtMs -= IN_TOTAL.intervalMs;
    };
  }

  #forgetLeastRecent(): void {
    const [network] = this.#emptyAtMs.keys();
    if (network !== undefined) this.#emptyAtMs.delete(network);
  }
}

/** Thrown when the limit of failed logins is reached. */
export class TooManyAttempts extends Error {
  override readonly name = "TooManyAttempts";
  readonly retryAfterSeconds: number;

  constructor(problem: string, retryAfterSeconds: number) {
    super(`${problem}; try again in ${retryAfterSeconds} s`);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

function requireRoom(usedMs: number, { burst, intervalMs }: Limit, problem: string): void {
  const excessMs = usedMs - (burst - 1) * intervalMs;
  if (excessMs > 0) throw new TooManyAttempts(problem, Math.ceil(excessMs / 1_000));
}

/** Returns the address; for IPv6, its /64 network, because one client can use all addresses of the network. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return [...left, ...Array<string>(zeros).fill("0"), ...right].slice(0, 4).join(":");
}
