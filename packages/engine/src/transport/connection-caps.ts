import type { Socket } from "node:net";

/**
 * Default limit for the address of another machine. For this machine, only the limit of all connections together
 * applies, because all local tools and workers share one address.
 */
const DEFAULT_PER_REMOTE_ADDRESS = 1_000;

/** Counts the connections of each address to one listener. */
export class ConnectionCaps {
  readonly #limit: () => number | undefined;
  readonly #counts = new Map<string, number>();

  /** `limit` returns the configured limit per address. It is called for each connection. */
  constructor(limit: () => number | undefined) {
    this.#limit = limit;
  }

  /**
   * Counts the connection until it closes. If its address has reached the limit, returns false and does not count it.
   */
  admit(socket: Socket): boolean {
    const address = socket.remoteAddress;
    // Without an address, the connection has already ended.
    if (address === undefined) return true;
    const limit = this.#limit() ?? (isLoopbackPeer(address) ? Number.POSITIVE_INFINITY : DEFAULT_PER_REMOTE_ADDRESS);
    const count = this.#counts.get(address) ?? 0;
    if (count >= limit) return false;
    this.#counts.set(address, count + 1);
    socket.once("close", () => {
      const left = (this.#counts.get(address) ?? 1) - 1;
      if (left === 0) this.#counts.delete(address);
      else this.#counts.set(address, left);
    });
    return true;
  }
}

export function isLoopbackPeer(address: string | undefined): boolean {
  return address !== undefined && (address === "::1" || /^(?:::ffff:)?127\./.test(address));
}
