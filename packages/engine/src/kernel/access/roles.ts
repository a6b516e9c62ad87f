import type { AccessSettings } from "./settings.ts";

/** The roles of the config that was applied last. While another one is being applied, which may fail, the roles stay as they are. */
export class Roles {
  #listeners: readonly AccessSettings[] | undefined;

  set(listeners: readonly AccessSettings[]): void {
    this.#listeners = listeners;
  }

  /** Whether a listener has the role, and a token that gives it. A token may be another one than before. Without settings every role is in force. */
  isInForce(role: string): boolean {
    if (this.#listeners === undefined) return true;
    return this.#listeners.some((listener) => hasRole(listener, role));
  }

  /** Returns the rules for the role, one JSON string for each listener that has it in force. Tokens are not part of them. */
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
