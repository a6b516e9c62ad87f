import type { AccessSettings } from "./settings.ts";

/**
 * The roles of the last config that was applied successfully. While a config is being applied, the previous roles stay,
 * because applying it may fail.
 */
export class Roles {
  #listeners: readonly AccessSettings[] | undefined;

  set(listeners: readonly AccessSettings[]): void {
    this.#listeners = listeners;
  }

  /**
   * Returns whether a listener has the role and any token for it. Returns true before the first config is applied.
   */
  isInForce(role: string): boolean {
    if (this.#listeners === undefined) return true;
    return this.#listeners.some((listener) => hasRole(listener, role));
  }

  /**
   * Returns the rules for the role: one JSON string for each listener that has the role and a token for it. The strings
   * do not contain the tokens.
   */
  rulesFor(role: string): readonly string[] {
    return (this.#listeners ?? [])
      .filter((listener) => hasRole(listener, role))
      .map(({ rbac, middlewareFunctionId }) => {
        const roles = rbac?.roles.filter(({ name }) => name === role);
        return JSON.stringify({ rbac: { ...rbac, roles, tokens: undefined }, middlewareFunctionId });
      });
  }
}

function hasRole({ rbac }: AccessSettings, role: string): boolean {
  return rbac?.roles.some(({ name }) => name === role) === true && rbac.tokens.some((token) => token.role === role);
}
