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
  /** Deadline of calls that set none, in milliseconds. */
  readonly timeoutMs: number | undefined;
  /** Validates payloads by the request format. */
  readonly check: FormatCheck | undefined;
}

export interface Registration {
  readonly provider: Provider;
  readonly description: FunctionDescription;
}

export interface FunctionEntry {
  readonly id: FunctionId;
  /** In order of arrival; never empty while the entry is in the registry. */
  readonly registrations: Registration[];
  /** Start of the search for the least busy provider, so that equally busy ones take turns. */
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
    if (known === undefined) this.#functions.set(id, { id, registrations: [registration], turn: 0 });
    else if (provider.builtIn) known.registrations.unshift(registration);
    else known.registrations.push(registration);
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
    this.#quota.release(registration.provider.principal);
    if (entry.registrations.length === 0) this.#functions.delete(id);
    this.#onChange(id, entry.registrations.length === 0 ? "removed" : "updated");
  }
}

export type Choice = { readonly registration: Registration } | { readonly refusal: "draining" | "overloaded" };

/**
 * Chooses the provider with the fewest calls in flight; equally busy ones take turns. Draining and overloaded ones are
 * skipped. One on standby is chosen only if there is no other.
 */
export function chooseProvider(entry: FunctionEntry): Choice {
  const { registrations } = entry;
  const count = registrations[0]?.provider.builtIn ? 1 : registrations.length;
  entry.turn = (entry.turn + 1) % count;
  let best: Registration | undefined;
  let standby: Registration | undefined;
  let overloaded = false;
  for (let step = 0; step < count; step++) {
    const candidate = registrations[(entry.turn + step) % count] as Registration;
    const refusal = candidate.provider.refusal();
    if (refusal !== undefined) {
      overloaded ||= refusal === "overloaded";
      continue;
    }
    if (candidate.provider.isStandby) {
      standby ??= candidate;
      continue;
    }
    if (best === undefined || candidate.provider.inFlight < best.provider.inFlight) best = candidate;
    if (best.provider.inFlight === 0) break;
  }
  best ??= standby;
  if (best !== undefined) return { registration: best };
  return { refusal: overloaded ? "overloaded" : "draining" };
}
