/**
 * Who a connection acts as. What is registered belongs to a principal, and resources are counted for each. Two connections with the same id are
 * one principal.
 */
export interface Principal {
  /** E.g. `role reader`, `prefix acme`. */
  readonly id: string;
  /** May provide and take back everything. All trusted connections are one principal, to which the engine's modules belong as well. */
  readonly isTrusted: boolean;
}

/** Connections to which no access rules apply: those with the engine's token, and those of listeners without rules. */
export const TRUSTED: Principal = { id: "trusted", isTrusted: true };

export function restrictedPrincipal(id: string): Principal {
  return { id, isTrusted: false };
}

export function isSamePrincipal(one: Principal, other: Principal): boolean {
  return one.id === other.id && one.isTrusted === other.isTrusted;
}
