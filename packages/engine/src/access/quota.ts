import { CallError } from "@svc-runtime/protocol";
import type { Principal } from "./principal.ts";

/** Limits of one resource, for example a number of functions or bytes. */
export interface QuotaLimits {
  /** Limit of each restricted principal. */
  readonly each: number;
  /** Limit of all restricted principals together. The rest of `total` is reserved for trusted connections. */
  readonly restricted: number;
  /** Limit of all principals together. Default: unlimited. */
  readonly total?: number;
}

/**
 * Counts the usage of one resource for each principal. All trusted connections are one principal, which is limited only
 * by `total`.
 */
export class Quota {
  readonly #what: string;
  readonly #limits: () => QuotaLimits;
  readonly #used = new Map<string, number>();
  #restricted = 0;
  #total = 0;

  /** `what` is the resource in the plural, e.g. `functions`. */
  constructor(what: string, limits: QuotaLimits | (() => QuotaLimits)) {
    this.#what = what;
    this.#limits = typeof limits === "function" ? limits : () => limits;
  }

  /** The usage of all principals together. */
  get used(): number {
    return this.#total;
  }

  /**
   * Counts `amount` for the principal. Returns undefined, or a description of the limit that would be exceeded; then
   * nothing is counted.
   */
  take(principal: Principal, amount = 1): string | undefined {
    const problem = this.problemOf(principal, amount);
    if (problem === undefined) this.add(principal, amount);
    return problem;
  }

  /** Counts `amount` without a check. For an amount that `problemOf` has checked, or that replaces another amount. */
  add(principal: Principal, amount = 1): void {
    this.#total += amount;
    if (principal.isTrusted) return;
    this.#restricted += amount;
    const own = (this.#used.get(principal.id) ?? 0) + amount;
    if (own === 0) this.#used.delete(principal.id);
    else this.#used.set(principal.id, own);
  }

  /** Subtracts `amount` from the principal's usage. */
  release(principal: Principal, amount = 1): void {
    this.add(principal, -amount);
  }

  /** Returns a description of the limit that would be exceeded if `amount` were added, or undefined. */
  problemOf(principal: Principal, amount = 1): string | undefined {
    const { each, restricted, total = Number.POSITIVE_INFINITY } = this.#limits();
    if (this.#total + amount > total) return `all connections together have ${this.#total} ${this.#what} of ${total}`;
    if (principal.isTrusted) return undefined;
    const own = this.#used.get(principal.id) ?? 0;
    if (own + amount > each) return `all connections of ${principal.id} together have ${own} ${this.#what} of ${each}`;
    if (this.#restricted + amount > restricted)
      return `all restricted connections together have ${this.#restricted} ${this.#what} of ${restricted}`;
    return undefined;
  }
}

export function overQuota(problem: string): CallError {
  return new CallError("overloaded", problem);
}
