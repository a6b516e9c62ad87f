import { type HelperCalls, HelperMethods, ITEM_OPTIONS, itemsOfPages, wireMembers } from "../items/helper-methods.ts";
import type {
  ConditionOptions,
  HelperOptions,
  IterateOptions,
  Page,
  PageOptions,
  SetResult,
  UpdateOptions,
  UpdateResult,
  WriteOptions,
} from "../items/item-types.ts";
import type { UpdateOp } from "../items/update-op.ts";
import { withFirst } from "../items/with-first.ts";
import { checkedOptions, optionNames } from "../names/option-names.ts";
import { loadPart, type Part } from "../on-demand.ts";
import { openItems } from "./open-items.ts";
import type {
  ExportedItem,
  ExportOptions,
  ImportItem,
  ImportOptions,
  ImportResult,
  SetManyResult,
  SnapshotOptions,
  SnapshotResult,
  StateEntry,
  StateGroup,
  StateSelection,
  StateWrite,
} from "./state-types.ts";

const METHODS = /* @__PURE__ */ new HelperMethods("state", {
  set: ITEM_OPTIONS.write,
  update: ITEM_OPTIONS.update,
  delete: ITEM_OPTIONS.condition,
  entries: ITEM_OPTIONS.iterate,
  entriesPage: ITEM_OPTIONS.page,
  groups: ITEM_OPTIONS.iterate,
  groupsPage: ITEM_OPTIONS.page,
  snapshot: ["name"],
});
const SCOPE_METHODS = [
  "get",
  "getEntry",
  "set",
  "update",
  "delete",
  "getMany",
  "deleteMany",
  "list",
  "entries",
  "entriesPage",
] as const satisfies readonly (keyof StateScope)[];
const writeMembers = optionNames("an item of state.setMany", ["scope", "key", "value", ...ITEM_OPTIONS.write]);
const selectionMembers = optionNames("the selection of state.deleteMany", ["keys", "prefix"]);

/** The part of the SDK that exports and imports state. */
export type StateTransfer = typeof import("./state-transfer.ts");

/**
 * Durable values by scope and key, shared by all workers (module `svc-state`). Scopes and keys are any strings of 1 to
 * 1,024 bytes. Results have the members of the results of the functions `state::*`, in camelCase. All methods reject with CallError,
 * as `worker.call` does. A write whose `ifVersion` does not match rejects with `state_conflict` and `details`
 * `{expected, actual}`.
 */
export class WorkerState {
  readonly #calls: HelperCalls;
  readonly #transfer: Part<StateTransfer>;

  /** Internal: available as a member of a worker and of a handler's context. */
  constructor(calls: HelperCalls, transfer: Part<StateTransfer>) {
    this.#calls = calls;
    this.#transfer = transfer;
  }

  /** Returns one scope, with the types of its values: `worker.state.scope<{ total: number }>("math")`. */
  scope<Values = Readonly<Record<string, unknown>>>(scope: string): StateScope<Values> {
    const setMany: StateScope<Values>["setMany"] = (values, options) =>
      this.setMany(
        Object.entries(values).map(([key, value]) => ({ scope, key, value })),
        options,
      );
    return { name: scope, ...withFirst(this, [scope], SCOPE_METHODS), setMany } as StateScope<Values>;
  }

  /** Returns the value, or null. */
  get<Value = unknown>(scope: string, key: string, options?: HelperOptions): Promise<Value | null> {
    return METHODS.call(this.#calls, "get", { scope, key }, options);
  }

  /** Returns the value with its version, or null. */
  getEntry<Value = unknown>(scope: string, key: string, options?: HelperOptions): Promise<StateEntry<Value> | null> {
    return METHODS.result(this.#calls, "getEntry", { scope, key }, options);
  }

  set<Value>(scope: string, key: string, value: Value, options?: WriteOptions): Promise<SetResult<Value>> {
    const payload = { scope, key, ...wireMembers(options, ITEM_OPTIONS.write), value };
    return METHODS.result(this.#calls, "set", payload, options);
  }

  /**
   * Changes a value in the engine. An item that does not exist starts as `{}`. Failed operations are in `errors`: they
   * do not reject the call.
   */
  update<Value = unknown>(
    scope: string,
    key: string,
    ops: readonly UpdateOp[],
    options?: UpdateOptions,
  ): Promise<UpdateResult<Value>> {
    const payload = { scope, key, ...wireMembers(options, ITEM_OPTIONS.update), ops };
    return METHODS.result(this.#calls, "update", payload, options, { errors: {} });
  }

  /** Deletes an item. Returns its value, or null. */
  delete<Value = unknown>(scope: string, key: string, options?: ConditionOptions): Promise<Value | null> {
    const payload = { scope, key, ...wireMembers(options, ITEM_OPTIONS.condition) };
    return METHODS.call(this.#calls, "delete", payload, options);
  }

  /** Returns the items in the order of `keys` (1 to 1,000), with null for missing items. */
  async getMany<Value = unknown>(
    scope: string,
    keys: readonly string[],
    options?: HelperOptions,
  ): Promise<readonly (StateEntry<Value> | null)[]> {
    const { items } = await METHODS.result<{ readonly items: readonly (StateEntry<Value> | null)[] }>(
      this.#calls,
      "getMany",
      { scope, keys },
      options,
      { items: {} },
    );
    return items;
  }

  /** Makes 1 to 1,000 writes atomically. */
  async setMany(items: readonly StateWrite[], options?: HelperOptions): Promise<SetManyResult> {
    const writes = items.map((item) => {
      const { scope, key, value } = checkedOptions(item, writeMembers);
      return { scope, key, ...wireMembers(item, ITEM_OPTIONS.write), value };
    });
    return METHODS.result(this.#calls, "setMany", { items: writes }, options, { items: {} });
  }

  async deleteMany(
    scope: string,
    which: StateSelection,
    options?: HelperOptions,
  ): Promise<{ readonly deleted: number }> {
    const payload = { scope, ...checkedOptions(which, selectionMembers) };
    return METHODS.result(this.#calls, "deleteMany", payload, options);
  }

  /**
   * Returns all values of a scope, sorted by key. Rejects with `payload_too_large` if they do not fit into one result.
   */
  list<Value = unknown>(scope: string, options?: HelperOptions): Promise<readonly Value[]> {
    return METHODS.call(this.#calls, "list", { scope }, options);
  }

  /**
   * Yields all items of a scope, sorted by key, page by page. Items that exist throughout are yielded exactly once,
   * even with concurrent writes.
   */
  entries<Value = unknown>(scope: string, options: IterateOptions = {}): AsyncGenerator<StateEntry<Value>, void, void> {
    return itemsOfPages((page) => this.entriesPage<Value>(scope, page), options, METHODS.options("entries"));
  }

  entriesPage<Value = unknown>(scope: string, options?: PageOptions): Promise<Page<StateEntry<Value>>> {
    const payload = { scope, ...wireMembers(options, ITEM_OPTIONS.page) };
    return METHODS.result(this.#calls, "entriesPage", payload, options, { items: {} }, "state::entries");
  }

  /** Returns the non-empty scopes, sorted. */
  async listGroups(options?: HelperOptions): Promise<readonly string[]> {
    return (await METHODS.call<{ readonly groups: readonly string[] }>(this.#calls, "listGroups", {}, options)).groups;
  }

  /** Yields the non-empty scopes with their sizes, sorted. */
  groups(options: IterateOptions = {}): AsyncGenerator<StateGroup, void, void> {
    return itemsOfPages((page) => this.groupsPage(page), options, METHODS.options("groups"));
  }

  groupsPage(options?: PageOptions): Promise<Page<StateGroup>> {
    const payload = wireMembers(options, ITEM_OPTIONS.page);
    return METHODS.result(this.#calls, "groupsPage", payload, options, { items: {} }, "state::groups");
  }

  /** Yields all items, or those of one scope. `exportLines` keeps numbers beyond 2^53 exact. */
  async *export<Value = unknown>(options: ExportOptions = {}): AsyncGenerator<ExportedItem<Value>, void, void> {
    for await (const line of this.exportLines(options)) yield JSON.parse(line) as ExportedItem<Value>;
  }

  /** As `export`, but yields NDJSON lines, without line ends. */
  async *exportLines(options: ExportOptions = {}): AsyncGenerator<string, void, void> {
    const { exportedLines } = await loadPart(this.#transfer);
    yield* exportedLines(this.#calls, options);
  }

  /** Stores the lines or items of an export. Resolves when all are stored. The default timeout is one hour. */
  async import(
    items: Iterable<ImportItem> | AsyncIterable<ImportItem>,
    options: ImportOptions = {},
  ): Promise<ImportResult> {
    const source = openItems(items);
    try {
      const { importItems } = await loadPart(this.#transfer);
      return await importItems(this.#calls, source, options);
    } finally {
      await source.close();
    }
  }

  /**
   * Writes a consistent snapshot of all state to a file on the engine's machine, without blocking other reads and
   * writes.
   */
  snapshot(options?: SnapshotOptions): Promise<SnapshotResult> {
    const payload = wireMembers(options, ["name"]);
    return METHODS.result(this.#calls, "snapshot", payload, options);
  }
}

type KeyOf<Values> = keyof Values & string;

/** One scope of state, with value types by key. The methods are those of `WorkerState` without the scope. */
export interface StateScope<Values = Readonly<Record<string, unknown>>> {
  readonly name: string;
  get<Key extends KeyOf<Values>>(key: Key, options?: HelperOptions): Promise<Values[Key] | null>;
  getEntry<Key extends KeyOf<Values>>(key: Key, options?: HelperOptions): Promise<StateEntry<Values[Key]> | null>;
  set<Key extends KeyOf<Values>>(key: Key, value: Values[Key], options?: WriteOptions): Promise<SetResult<Values[Key]>>;
  update<Key extends KeyOf<Values>>(
    key: Key,
    ops: readonly UpdateOp[],
    options?: UpdateOptions,
  ): Promise<UpdateResult<Values[Key]>>;
  delete<Key extends KeyOf<Values>>(key: Key, options?: ConditionOptions): Promise<Values[Key] | null>;
  getMany<Key extends KeyOf<Values>>(
    keys: readonly Key[],
    options?: HelperOptions,
  ): Promise<readonly (StateEntry<Values[Key]> | null)[]>;
  /** Writes all values atomically. */
  setMany(values: Readonly<Partial<Values>>, options?: HelperOptions): Promise<SetManyResult>;
  deleteMany(which: StateSelection, options?: HelperOptions): Promise<{ readonly deleted: number }>;
  list(options?: HelperOptions): Promise<readonly Values[KeyOf<Values>][]>;
  entries(options?: IterateOptions): AsyncGenerator<StateEntry<Values[KeyOf<Values>]>, void, void>;
  entriesPage(options?: PageOptions): Promise<Page<StateEntry<Values[KeyOf<Values>]>>>;
}
