import type { Socket } from "node:net";

/** From other machines; from this one only the cap over all connections holds, since every tool and worker here shares one address. */
const DEFAULT_PER_REMOTE_ADDRESS = 1_000;

/** Counts the connections that each address has to one listener, and says when one has too many. */
export class ConnectionCaps {
  readonly #limit: () => number | undefined;
  readonly #counts = new Map<string, number>();

  /** `limit` is what is configured, for every address; read at each connection. */
  constructor(limit: () => number | undefined) {
    this.#limit = limit;
  }

  /** Counts the connection until it closes. False when its address has as many as it may; then it is not counted. */
  admit(socket: Socket): boolean {
    const address = socket.remoteAddress;
    // It is gone already.
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
