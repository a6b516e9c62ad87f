import type { TriggerTypeId } from "@svc-runtime/protocol";
import type { FormatCheck } from "../format-check.ts";
import type { Undo } from "../scope.ts";
import type { TriggerTypeProvider } from "./trigger-binding.ts";

export interface TriggerTypeEntry {
  readonly id: TriggerTypeId;
  readonly description: string;
  readonly requestFormat: unknown;
  readonly callRequestFormat: unknown;
  /** Validates configs against the request format. */
  readonly check: FormatCheck | undefined;
  readonly provider: TriggerTypeProvider;
}

/** All providers of one type, the serving one first. Never empty. */
export type TriggerTypeEntries = readonly [TriggerTypeEntry, ...TriggerTypeEntry[]];

/**
 * The providers of each trigger type. One provider serves the type, and the others wait. A module is preferred to all
 * workers. Among workers, the one that registered last is preferred. A worker on standby or of another node serves the
 * type only if there is no other provider. When the serving provider disconnects, the next one takes over.
 */
export class TriggerTypes {
  readonly #entries = new Map<TriggerTypeId, TriggerTypeEntries>();
  readonly #onServed: (id: TriggerTypeId) => void;
  readonly #onChange: (id: TriggerTypeId) => void;

  /**
   * `onServed` is called when another provider begins to serve a type, and when the last provider has gone. `onChange`
   * is called for each change of the providers, after `onServed`.
   */
  constructor(onServed: (id: TriggerTypeId) => void, onChange: (id: TriggerTypeId) => void) {
    this.#onServed = onServed;
    this.#onChange = onChange;
  }

  all(): IterableIterator<TriggerTypeEntries> {
    return this.#entries.values();
  }

  /** Returns the entry of the provider that serves the type. */
  byId(id: TriggerTypeId): TriggerTypeEntry | undefined {
    return this.#entries.get(id)?.[0];
  }

  /** Returns the entries of all providers of the type. The one that serves it is first. */
  entriesOf(id: TriggerTypeId): readonly TriggerTypeEntry[] {
    return this.#entries.get(id) ?? [];
  }

  provide(entry: TriggerTypeEntry): Undo {
    const { id } = entry;
    const [first, ...others] = this.#entries.get(id) ?? [];
    if (first === undefined) this.#set(id, [entry]);
    else if (entry.provider.remote !== undefined) this.#set(id, [first, ...others, entry]);
    else if (first.provider.builtIn && !entry.provider.builtIn) this.#set(id, [first, entry, ...others]);
    else this.#set(id, [entry, first, ...others]);
    return () =>
      this.#set(
        id,
        (this.#entries.get(id) ?? []).filter((other) => other !== entry),
      );
  }

  /** To be called when these workers came into service or went on standby. */
  standbyChanged(workerIds: ReadonlySet<string>): void {
    for (const [id, entries] of [...this.#entries])
      if (entries.some(({ provider }) => workerIds.has(provider.workerId))) this.#set(id, entries);
  }

  #set(id: TriggerTypeId, entries: readonly TriggerTypeEntry[]): void {
    const before = this.byId(id);
    const serving = entries.find(({ provider }) => provider.builtIn || provider.isStandby !== true) ?? entries[0];
    if (serving === undefined) this.#entries.delete(id);
    else this.#entries.set(id, [serving, ...entries.filter((entry) => entry !== serving)]);
    if (serving !== before) this.#onServed(id);
    this.#onChange(id);
  }
}
