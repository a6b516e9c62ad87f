import { isEngineFunction } from "./engine-ids.ts";
import { chosenFunctionOf, RememberedIds, type SavedIds } from "./remembered-ids.ts";
import type { AccessSettings } from "./settings.ts";

type Kind = "function" | "trigger type";

/** Facts about functions that decide whether an id is reserved. */
interface KnownFunctions {
  /** Returns whether a trigger of a trusted worker names the function as its condition or middleware. */
  isNeededByTrusted(functionId: string): boolean;
  /** Returns whether a trigger of a trusted worker calls the function. */
  isCalledByTrusted(functionId: string): boolean;
  /** Returns the id of the restricted principal that provides the function; undefined if no restricted one does. */
  restrictedProviderOf(functionId: string): string | undefined;
}

/** Ids that restricted connections may not register. */
export class ReservedIds {
  #deciders: ReadonlySet<string> = new Set();
  #configuredPrefixes: ReadonlySet<string> = new Set();
  /** Prefixes of open connections, with the number of connections of each. */
  readonly #livePrefixes = new Map<string, number>();
  /** Functions that settings and alerts name, with the number of these settings and alerts. */
  readonly #named = new Map<string, number>();
  readonly #remembered = new RememberedIds();
  /** Functions of restricted principals that trusted callers named, each with the id of its principal. */
  readonly #chosen = new Map<string, string>();
  readonly #functions: KnownFunctions;

  constructor(functions: KnownFunctions) {
    this.#functions = functions;
  }

  /** Applies the settings of all listeners. Returns the ids of the functions that now decide about access. */
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

  /**
   * Reserves the prefix of a connection. A prefix from an auth function stays reserved after the connection has closed.
   */
  hold(prefix: string): () => void {
    if (!this.#configuredPrefixes.has(prefix))
      this.#remembered.add("prefix", prefix, (other) => this.#livePrefixes.has(other));
    return count(this.#livePrefixes, prefix);
  }

  /**
   * Reserves a function that a setting or an alert of a trusted principal names, until the returned function is called.
   * The current provider keeps the function.
   */
  name(functionId: string): () => void {
    return count(this.#named, functionId);
  }

  /**
   * Reserves a function that a trusted caller named and that the engine calls later, e.g. for a job. The reservation
   * ends when a trusted worker registers the function. If a restricted principal provides the function now, the caller
   * meant the function of this principal, so it is reserved for this principal.
   */
  rememberCalled(functionId: string): void {
    const remembered = this.#remembered;
    if (
      isEngineFunction(functionId) ||
      remembered.has("function", functionId) ||
      remembered.has("called function", functionId)
    )
      return;
    if (this.#chosen.has(functionId)) return;
    const provider = this.#functions.restrictedProviderOf(functionId);
    if (provider === undefined) {
      remembered.add("called function", functionId);
      return;
    }
    this.#chosen.set(functionId, provider);
    remembered.add("chosen function", JSON.stringify([functionId, provider]));
  }

  /** Loads the ids of the previous run from `saved`, and persists changes there from now on. */
  keepIn(saved: SavedIds): void {
    this.#remembered.keepIn(saved);
    for (const entry of this.#remembered.all("chosen function")) {
      const [functionId, provider] = chosenFunctionOf(entry);
      this.#chosen.set(functionId, provider);
    }
  }

  /** Reserves an id that a trusted connection registered. It stays reserved after the connection has closed. */
  remember(kind: Kind, id: string): void {
    this.#remembered.add(kind, id);
    if (kind === "trigger type") return;
    this.#remembered.remove("called function", id);
    const provider = this.#chosen.get(id);
    if (provider === undefined) return;
    this.#chosen.delete(id);
    this.#remembered.remove("chosen function", JSON.stringify([id, provider]));
  }

  /** Releases an id that a trusted connection unregistered. */
  release(kind: Kind, id: string): void {
    this.#remembered.remove(kind, id);
  }

  /**
   * Returns why a restricted connection may not provide the function; undefined if it may. `ownPrefix` is the prefix of
   * the connection, and `principal` is the id of its principal.
   */
  refusalOfFunction(id: string, ownPrefix: string | undefined, principal?: string): string | undefined {
    // If a connection could register the id, a module that is loaded later would share its calls with the connection.
    if (isEngineFunction(id))
      return `${id} is reserved for the engine: restricted connections cannot provide ids of its modules; choose another id`;
    if (this.#deciders.has(id))
      return `${id} decides over access: only a trusted connection can provide it, e.g. one with the engine's token`;
    if (this.#functions.isNeededByTrusted(id))
      return `${id} decides over a trigger of a trusted worker: only a trusted connection can provide it`;
    const prefix = this.#prefixOf(id);
    if (prefix !== undefined)
      return prefix === ownPrefix
        ? undefined
        : `${id} is reserved: ids that begin with ${prefix}:: belong to another principal`;
    // The connection would get the trigger's requests, jobs and events. This is refused even if the function has no
    // provider now.
    if (this.#functions.isCalledByTrusted(id))
      return `${id} is called by a trigger of a trusted worker: choose an id below a prefix of this connection, or provide it with a trusted one`;
    if (this.#named.has(id) || this.#remembered.has("called function", id))
      return `${id} is called by a job or an alert of a trusted worker, or by a setting: choose an id below a prefix of this connection, or provide it with a trusted one`;
    const chosen = this.#chosen.get(id);
    if (chosen !== undefined && chosen !== principal)
      return `${id} is called by a trusted worker, and belongs to the principal that provided it then: choose another id`;
    return undefined;
  }

  /** Returns whether the id belongs to trusted workers, which may be disconnected. */
  isOfTrusted(kind: Kind, id: string): boolean {
    return this.#remembered.has(kind, id);
  }

  /** Why ids of trusted workers are not known, and how to repair this; undefined if they are known. */
  get problem(): string | undefined {
    return this.#remembered.problem;
  }

  /** Returns the longest reserved prefix of the id; undefined if there is none. */
  #prefixOf(id: string): string | undefined {
    for (let cut = id.lastIndexOf("::"); cut > 0; cut = id.lastIndexOf("::", cut - 1)) {
      const prefix = id.slice(0, cut);
      if (
        this.#configuredPrefixes.has(prefix) ||
        this.#livePrefixes.has(prefix) ||
        this.#remembered.has("prefix", prefix)
      )
        return prefix;
    }
    return undefined;
  }
}

function count(counts: Map<string, number>, key: string): () => void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
  return () => {
    const left = (counts.get(key) ?? 1) - 1;
    if (left === 0) counts.delete(key);
    else counts.set(key, left);
  };
}
