import type { FunctionId } from "@svc-runtime/protocol";
import type { Quota } from "../access/quota.ts";
import type { Provider } from "./call.ts";
import type { FormatCheck } from "./format-check.ts";
import type { Undo } from "./scope.ts";

/** The description of a function, as its provider registered it. */
export interface FunctionDescription {
  readonly description: string | undefined;
  readonly requestFormat: unknown;
  readonly responseFormat: unknown;
  readonly metadata: unknown;
  /** Timeout of calls that set no timeout, in milliseconds. */
  readonly timeoutMs: number | undefined;
  /** Validates payloads against the request format. */
  readonly check: FormatCheck | undefined;
}

export interface Registration {
  readonly provider: Provider;
  readonly description: FunctionDescription;
}

export interface FunctionEntry {
  readonly id: FunctionId;
  /**
   * A module is first. Workers of this node follow in the order of registration, and workers of other nodes are last.
   * Never empty while the entry is in the registry.
   */
  readonly registrations: Registration[];
  /** Number of registrations of this node. */
  localCount: number;
  /**
   * Index at which the search for the least busy provider starts. It advances, so that equally busy ones take turns.
   */
  turn: number;
}

/** The current providers of each function. Has no dependency on sockets or time. */
export class Registry {
  readonly #functions = new Map<FunctionId, FunctionEntry>();
  readonly #quota: Quota;
  readonly #onChange: (id: FunctionId, op: "created" | "updated" | "removed") => void;

  /** `quota` counts the registrations of each principal. Callers must check it before they register. */
  constructor(quota: Quota, onChange: (id: FunctionId, op: "created" | "updated" | "removed") => void) {
    this.#quota = quota;
    this.#onChange = onChange;
  }

  /** Adds a provider of the function. The undo removes this registration only. */
  register(id: FunctionId, provider: Provider, description: FunctionDescription): Undo {
    const registration: Registration = { provider, description };
    const known = this.#functions.get(id);
    const isLocal = provider.remote === undefined;
    if (known === undefined)
      this.#functions.set(id, { id, registrations: [registration], localCount: isLocal ? 1 : 0, turn: 0 });
    else {
      const at = provider.builtIn ? 0 : isLocal ? known.localCount : known.registrations.length;
      known.registrations.splice(at, 0, registration);
      if (isLocal) known.localCount++;
    }
    this.#quota.add(provider.principal);
    this.#onChange(id, known === undefined ? "created" : "updated");
    return () => this.#remove(id, registration);
  }

  find(id: FunctionId): FunctionEntry | undefined {
    return this.#functions.get(id);
  }

  entries(): IterableIterator<FunctionEntry> {
    return this.#functions.values();
  }

  #remove(id: FunctionId, registration: Registration): void {
    const entry = this.#functions.get(id);
    const at = entry?.registrations.indexOf(registration) ?? -1;
    if (entry === undefined || at === -1) return;
    entry.registrations.splice(at, 1);
    if (registration.provider.remote === undefined) entry.localCount--;
    this.#quota.release(registration.provider.principal);
    if (entry.registrations.length === 0) this.#functions.delete(id);
    this.#onChange(id, entry.registrations.length === 0 ? "removed" : "updated");
  }
}
