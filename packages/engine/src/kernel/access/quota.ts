import { CallError } from "@svc/protocol";
import type { Principal } from "./principal.ts";

/** Bounds of one resource, in units of that resource. */
export interface QuotaLimits {
  /** For each restricted principal. */
  readonly each: number;
  /** For all restricted principals together. The rest of `total` is reserved for trusted ones. */
  readonly restricted: number;
  /** For everybody together. Default: unbounded. */
  readonly total?: number;
}

/** Counts how much of one resource each principal uses. Trusted connections are one principal, bounded by `total` alone. */
export class Quota {
  readonly #what: string;
  readonly #limits: () => QuotaLimits;
  readonly #used = new Map<string, number>();
  #restricted = 0;
  #total = 0;

  /** `what`: the resource in the plural, e.g. `functions`. */
  constructor(what: string, limits: QuotaLimits | (() => QuotaLimits)) {
    this.#what = what;
    this.#limits = typeof limits === "function" ? limits : () => limits;
  }

  /** What everybody uses together. */
  get used(): number {
    return this.#total;
  }

  /** Counts `amount` for the principal. Returns undefined, or the bound that would be exceeded, in words; then nothing is counted. */
  take(principal: Principal, amount = 1): string | undefined {
    const problem = this.problemOf(principal, amount);
    if (problem === undefined) this.add(principal, amount);
    return problem;
  }

  /** Counts `amount` without a check, for what was checked by `problemOf` or replaces something. */
  add(principal: Principal, amount = 1): void {
    this.#total += amount;
    if (principal.isTrusted) return;
    this.#restricted += amount;
    const own = (this.#used.get(principal.id) ?? 0) + amount;
    if (own === 0) this.#used.delete(principal.id);
    else this.#used.set(principal.id, own);
  }

  /** Takes back what was counted for the principal. */
  release(principal: Principal, amount = 1): void {
    this.add(principal, -amount);
  }

  /** The bound that `amount` more would exceed, in words, or undefined. */
  problemOf(principal: Principal, amount = 1): string | undefined {
    const { each, restricted, total = Number.POSITIVE_INFINITY } = this.#limits();
    if (this.#total + amount > total) return `all connections together have ${this.#total} ${this.#what} of ${total}`;
    if (principal.isTrusted) return undefined;
    const own = this.#used.get(principal.id) ?? 0;
    if (own + amount > each) return `all connections of ${principal.id} together have ${own} ${this.#what} of ${each}`;
    if (this.#restricted + amount > restricted) return `all restricted connections together have ${this.#restricted} ${this.#what} of ${restricted}`;
    return undefined;
  }
}

export function overQuota(problem: string): CallError {
  return new CallError("overloaded", problem);
}
