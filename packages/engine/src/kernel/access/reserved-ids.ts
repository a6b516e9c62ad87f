import type { Undo } from "../scope.ts";
import { isEngineFunction } from "./engine-ids.ts";
import type { AccessSettings } from "./settings.ts";

/** Ids that the engine remembers of trusted connections that left. Beyond it the oldest are forgotten. */
const MAX_REMEMBERED = 100_000;

type Kind = "function" | "trigger type";

/** Ids that trusted connections registered, the oldest first. */
interface TrustedIds {
  readonly entries: ReadonlySet<string>;
  /** Why ids of an earlier run are not known, and what to do; undefined if they are known. */
  readonly problem?: string | undefined;
  /** As the newest one. */
  add(entry: string): void;
  remove(entry: string): void;
}

/** Ids that restricted connections may not register. */
export class ReservedIds {
  #deciders: ReadonlySet<string> = new Set();
  #configuredPrefixes: ReadonlySet<string> = new Set();
  /** Prefixes of live connections, with how many have each. */
  readonly #livePrefixes = new Map<string, number>();
  /** Those that were not taken back, also when the connections left. */
  #trusted = unsavedIds();
  readonly #isNeededByTrustedTrigger: (functionId: string) => boolean;

  /** @param isNeededByTrustedTrigger whether a trigger of a trusted worker names the function as its condition or middleware */
  constructor(isNeededByTrustedTrigger: (functionId: string) => boolean) {
    this.#isNeededByTrustedTrigger = isNeededByTrustedTrigger;
  }

  /** Takes what the listeners' settings reserve, in place of what was taken before. Returns the ids that decide over access now. */
  configure(listeners: readonly AccessSettings[]): readonly string[] {
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
    return [...this.#deciders];
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

  /** From now on the ids of trusted connections are kept in `saved`, which has those of the run before. */
  keepIn(saved: TrustedIds): void {
    for (const entry of this.#trusted.entries) saved.add(entry);
    this.#trusted = saved;
  }

  /** A trusted connection registered the id: it stays reserved when that connection leaves. */
  remember(kind: Kind, id: string): void {
    this.#trusted.add(entryOf(kind, id));
    const { entries } = this.#trusted;
    if (entries.size > MAX_REMEMBERED) this.#trusted.remove(entries.keys().next().value ?? "");
  }

  /** A trusted connection took the id back: others may have it. */
  release(kind: Kind, id: string): void {
    this.#trusted.remove(entryOf(kind, id));
  }

  /** Why a restricted connection may not provide the function; undefined when it may. `ownPrefix` is the connection's. */
  refusalOfFunction(id: string, ownPrefix: string | undefined): string | undefined {
    // A module that is loaded later would share the calls of its functions with the connection.
    if (isEngineFunction(id)) return `${id} is reserved for the engine: restricted connections cannot provide ids of its modules; choose another id`;
    if (this.#deciders.has(id)) return `${id} decides over access: only a trusted connection can provide it, e.g. one with the engine's token`;
    if (this.#isNeededByTrustedTrigger(id)) return `${id} decides over a trigger of a trusted worker: only a trusted connection can provide it`;
    const prefix = this.#prefixOf(id);
    if (prefix !== undefined && prefix !== ownPrefix) return `${id} is reserved: ids that begin with ${prefix}:: belong to another`;
    return undefined;
  }

  /** Whether the id belongs to trusted workers, which may be away. */
  isOfTrusted(kind: Kind, id: string): boolean {
    return this.#trusted.entries.has(entryOf(kind, id));
  }

  /** Why nobody knows which ids belong to trusted workers, and what to do; undefined if it is known. */
  get problem(): string | undefined {
    return this.#trusted.problem;
  }

  /** The longest reserved prefix that the id lies below; undefined when it lies below none. */
  #prefixOf(id: string): string | undefined {
    for (let cut = id.lastIndexOf("::"); cut > 0; cut = id.lastIndexOf("::", cut - 1)) {
      const prefix = id.slice(0, cut);
      if (this.#configuredPrefixes.has(prefix) || this.#livePrefixes.has(prefix)) return prefix;
    }
    return undefined;
  }
}

function unsavedIds(): TrustedIds {
  const entries = new Set<string>();
  return {
    entries,
    add(entry) {
      entries.delete(entry);
      entries.add(entry);
    },
    remove: (entry) => entries.delete(entry),
  };
}

function entryOf(kind: Kind, id: string): string {
  return `${kind} ${id}`;
}
