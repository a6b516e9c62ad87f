import { z } from "zod";

/**
 * Who a connection acts as. What is registered belongs to a principal, and resources are counted for each. Two connections with the same id are
 * one principal.
 */
export interface Principal {
  /** E.g. `role reader`, `prefix acme`. */
  readonly id: string;
  /** May provide and take back everything. All trusted connections are one principal, to which the engine's modules belong as well. */
  readonly isTrusted: boolean;
  /** Its HTTP routes must lie below this path, e.g. `/acme`. Undefined: anywhere. */
  readonly httpPathPrefix?: string | undefined;
}

/** Connections to which no access rules apply: those with the engine's token, and those of listeners without rules. */
export const TRUSTED: Principal = { id: "trusted", isTrusted: true };

export function restrictedPrincipal(id: string, httpPathPrefix?: string): Principal {
  return { id, isTrusted: false, httpPathPrefix };
}

/** A path of literal segments, as roles and auth functions give it. */
export const httpPathPrefixSchema = z
  .string()
  .max(256)
  .regex(/^(?:\/[A-Za-z0-9._~-]+)+$/, 'must be a path of plain segments, e.g. "/acme"');

export function isSamePrincipal(one: Principal, other: Principal): boolean {
  return one.id === other.id && one.isTrusted === other.isTrusted;
}
