import { isIPv6 } from "node:net";

/** Failed logins that are accepted at once, and the time after which one more is. */
interface Limit {
  readonly burst: number;
  readonly intervalMs: number;
}

/** For one address. */
const PER_ADDRESS: Limit = { burst: 10, intervalMs: 6_000 };
/** For all addresses together. It recovers within a second, so that a flood from many addresses cannot keep everybody out. */
const IN_TOTAL: Limit = { burst: 30, intervalMs: 100 };
const MAX_ADDRESSES = 10_000;

/**
 * Limits how often the engine is asked about tokens that the console does not know yet. Successful logins do not count. The limit of an address
 * is never exhausted for longer than its interval, because all users behind a reverse proxy have one address.
 */
export class LoginLimits {
  readonly #now: () => number;
  /** When all failures of an address are forgotten, with the least recent attempt first. */
  readonly #emptyAtMs = new Map<string, number>();
  #totalEmptyAtMs = Number.NEGATIVE_INFINITY;

  /** `now` returns milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts an attempt as failed. Returns a function that takes it back. Throws TooManyAttempts. */
  take(address: string): () => void {
    const nowMs = this.#now();
    const network = networkOf(address);
    const ofAddress = this.#emptyAtMs.get(network) ?? Number.NEGATIVE_INFINITY;
    requireRoom(ofAddress - nowMs, PER_ADDRESS, "too many logins from this address failed");
    requireRoom(this.#totalEmptyAtMs - nowMs, IN_TOTAL, "too many logins failed");
    // Deleted first, so that the address becomes the most recent one.
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

/** The /64 of an IPv6 address, because one client can use all addresses of it. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return [...left, ...Array<string>(zeros).fill("0"), ...right].slice(0, 4).join(":");
}
