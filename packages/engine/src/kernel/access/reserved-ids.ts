import type { Undo } from "../scope.ts";
import type { AccessSettings } from "./settings.ts";

/** Ids that restricted connections may not register: functions that decide over access, and what lies below another's prefix. */
export class ReservedIds {
  #deciders: ReadonlySet<string> = new Set();
  #configuredPrefixes: ReadonlySet<string> = new Set();
  /** Prefixes of live connections, with how many have each. */
  readonly #livePrefixes = new Map<string, number>();

  /** Takes what the listeners' settings reserve, in place of what was taken before. */
  configure(listeners: readonly AccessSettings[]): void {
    const deciders = listeners.flatMap(({ middlewareFunctionId, rbac }) => [
      middlewareFunctionId,
      rbac?.authFunctionId,
      rbac?.onFunctionRegistrationFunctionId,
      rbac?.onTriggerRegistrationFunctionId,
      rbac?.onTriggerTypeRegistrationFunctionId,
    ]);
    const prefixes = listeners.flatMap(({ rbac }) => rbac?.roles ?? []).map((role) => role.functionRegistrationPrefix);
    this.#deciders = new Set(deciders.filter((id) => id !== undefined));
    this.#configuredPrefixes = new Set(prefixes.filter((prefix) => prefix !== undefined));
  }

  /** A connection with this prefix is there. */
  hold(prefix: string): Undo {
    this.#livePrefixes.set(prefix, (this.#livePrefixes.get(prefix) ?? 0) + 1);
    return () => {
      const left = (this.#livePrefixes.get(prefix) ?? 1) - 1;
      if (left === 0) this.#livePrefixes.delete(prefix);
      else this.#livePrefixes.set(prefix, left);
    };
  }

  decides(id: string): boolean {
    return this.#deciders.has(id);
  }

  /** The longest reserved prefix that the id lies below; undefined when it lies below none. */
  prefixOf(id: string): string | undefined {
    for (let cut = id.lastIndexOf("::"); cut > 0; cut = id.lastIndexOf("::", cut - 1)) {
      const prefix = id.slice(0, cut);
      if (this.#configuredPrefixes.has(prefix) || this.#livePrefixes.has(prefix)) return prefix;
    }
    return undefined;
  }
}
