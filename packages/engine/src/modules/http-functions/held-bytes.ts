import { overQuota, type Principal, type Quota } from "../../kernel/module.ts";

/** Bytes that one call holds of a quota: its body, and what has arrived of its answer. */
export class HeldBytes {
  readonly #functionId: string;
  readonly #principal: Principal;
  readonly #quota: Quota;
  #bytes = 0;

  constructor(functionId: string, principal: Principal, quota: Quota) {
    this.#functionId = functionId;
    this.#principal = principal;
    this.#quota = quota;
  }

  /** Throws CallError `overloaded` if the quota has no room. */
  take(bytes: number): void {
    const problem = this.#quota.take(this.#principal, bytes);
    if (problem !== undefined) throw overQuota(`${this.#functionId}: ${problem}`);
    this.#bytes += bytes;
  }

  /** Gives back what is held beyond this. */
  releaseTo(bytes: number): void {
    this.#quota.release(this.#principal, this.#bytes - bytes);
    this.#bytes = bytes;
  }
}
