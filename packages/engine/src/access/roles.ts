import type { AccessSettings } from "./settings.ts";

/**
 * The roles of the config that was applied last. They do not change while another config is being applied, which may
 * fail.
 */
export class Roles {
  #listeners: readonly AccessSettings[] | undefined;

  set(listeners: readonly AccessSettings[]): void {
    this.#listeners = listeners;
  }

  /**
   * Returns whether a listener has the role and a token for it. The token may have changed. Without settings every role
   * is active.
   */
  isInForce(role: string): boolean {
    if (this.#listeners === undefined) return true;
    return this.#listeners.some((listener) => hasRole(listener, role));
  }

  /**
   * Returns the rules for the role, as one JSON string for each listener on which it is active. Tokens are not part of
   * them.
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
