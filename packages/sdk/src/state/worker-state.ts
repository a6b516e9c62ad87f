import {
  type HelperCalls,
  helperClass,
  ITEM_OPTIONS,
  itemsOfPages,
  memberOf,
  wireMembers,
  withErrors,
  withItems,
} from "../items/helper-methods.ts";
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
import { engineResult } from "../names/engine-result.ts";
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
const KEY = ["scope", "key"];
const WRITE_MEMBERS = ["scope", "key", ...ITEM_OPTIONS.write, "value"] as const;
const writeMembers = optionNames("an item of state.setMany", WRITE_MEMBERS);
const selectionMembers = optionNames("the selection of state.deleteMany", ["keys", "prefix"]);

/** The part of the SDK that exports and imports state. */
export type StateTransfer = typeof import("./state-transfer.ts");

interface StateMethods {
  /** Returns the value. Returns null if the item does not exist. */
  get<Value = unknown>(scope: string, key: string, options?: HelperOptions): Promise<Value | null>;
  /** Returns the value with its version. Returns null if the item does not exist. */
  getEntry<Value = unknown>(scope: string, key: string, options?: HelperOptions): Promise<StateEntry<Value> | null>;
  set<Value>(scope: string, key: string, value: Value, options?: WriteOptions): Promise<SetResult<Value>>;
  /**
   * Changes a value in the engine. If the item does not exist, the operations start with `{}`. Operations that fail are
   * listed in `errors` of the result; the call does not reject because of them.
   */
  update<Value = unknown>(
    scope: string,
    key: string,
    ops: readonly UpdateOp[],
    options?: UpdateOptions,
  ): Promise<UpdateResult<Value>>;
  /** Deletes an item. Returns its value, or null if it did not exist. */
  delete<Value = unknown>(scope: string, key: string, options?: ConditionOptions): Promise<Value | null>;
  /** Returns the items in the order of `keys` (1 to 1,000), with null for missing items. */
  getMany<Value = unknown>(
    scope: string,
    keys: readonly string[],
    options?: HelperOptions,
  ): Promise<readonly (StateEntry<Value> | null)[]>;
  /** Makes 1 to 1,000 writes atomically. */
  setMany(items: readonly StateWrite[], options?: HelperOptions): Promise<SetManyResult>;
  deleteMany(scope: string, which: StateSelection, options?: HelperOptions): Promise<{ readonly deleted: number }>;
  /**
   * Returns all values of a scope, sorted by key. Rejects with `payload_too_large` if they are too large for one
   * result.
   */
  list<Value = unknown>(scope: string, options?: HelperOptions): Promise<readonly Value[]>;
  entriesPage<Value = unknown>(scope: string, options?: PageOptions): Promise<Page<StateEntry<Value>>>;
  /** Returns the scopes that are not empty, sorted by name. */
  listGroups(options?: HelperOptions): Promise<readonly string[]>;
  groupsPage(options?: PageOptions): Promise<Page<StateGroup>>;
  /**
   * Writes a consistent snapshot of all state to a file on the engine's machine, without blocking other reads and
   * writes.
   */
  snapshot(options?: SnapshotOptions): Promise<SnapshotResult>;
}

/**
 * Durable values by scope and key, shared by all workers (module `svc-state`). Scopes and keys are strings of 1 to
 * 1,024 bytes. Results have the same members as the results of the functions `state::*`, in camelCase. All methods
 * reject with CallError, like `worker.call`. A write whose `ifVersion` does not match rejects with `state_conflict` and
 * the `details` `{expected, actual}`.
 */
export class WorkerState extends /* @__PURE__ */ helperClass<StateMethods>("state", {
  get: ["state::get", KEY],
  getEntry: ["state::get_entry", KEY, engineResult],
  set: ["state::set", ["scope", "key", "value"], engineResult, ITEM_OPTIONS.write],
  update: ["state::update", ["scope", "key", "ops"], withErrors, ITEM_OPTIONS.update],
  delete: ["state::delete", KEY, undefined, ITEM_OPTIONS.condition],
  getMany: ["state::get_many", ["scope", "keys"], /* @__PURE__ */ memberOf("items")],
  setMany: [
    "state::set_many",
    ["items"],
    withItems,
    undefined,
    ({ items }) => ({
      items: (items as readonly StateWrite[]).map((item) =>
        wireMembers(checkedOptions(item, writeMembers), WRITE_MEMBERS),
      ),
    }),
  ],
  deleteMany: [
    "state::delete_many",
    ["scope", "which"],
    engineResult,
    undefined,
    ({ scope, which }) => ({ scope, ...checkedOptions(which as StateSelection, selectionMembers) }),
  ],
  list: ["state::list", ["scope"]],
  entriesPage: ["state::entries", ["scope"], withItems, ITEM_OPTIONS.page],
  listGroups: ["state::list_groups", [], /* @__PURE__ */ memberOf("groups")],
  groupsPage: ["state::groups", [], withItems, ITEM_OPTIONS.page],
  snapshot: ["state::snapshot", [], engineResult, ["name"]],
}) {
  readonly #calls: HelperCalls;
  readonly #transfer: Part<StateTransfer>;

  /** Internal: available as a member of a worker and of a handler's context. */
  constructor(calls: HelperCalls, transfer: Part<StateTransfer>) {
    super(calls);
    this.#calls = calls;
    this.#transfer = transfer;
  }

  /**
   * Returns an object for one scope. Its type parameter declares the types of the values: `worker.state.scope<{ total:
   * number }>("math")`.
   */
  scope<Values = Readonly<Record<string, unknown>>>(scope: string): StateScope<Values> {
    const setMany: StateScope<Values>["setMany"] = (values, options) =>
      this.setMany(
        Object.entries(values).map(([key, value]) => ({ scope, key, value })),
        options,
      );
    return { name: scope, ...withFirst(this, [scope], SCOPE_METHODS), setMany } as StateScope<Values>;
  }

  /**
   * Yields all items of a scope, sorted by key, page by page. An item that exists during the whole iteration is yielded
   * exactly once, even if items are written meanwhile.
   */
  entries<Value = unknown>(scope: string, options: IterateOptions = {}): AsyncGenerator<StateEntry<Value>, void, void> {
    return itemsOfPages((page) => this.entriesPage<Value>(scope, page), options, "state.entries");
  }

  /** Yields the scopes that are not empty, with their sizes, sorted by name. */
  groups(options: IterateOptions = {}): AsyncGenerator<StateGroup, void, void> {
    return itemsOfPages((page) => this.groupsPage(page), options, "state.groups");
  }

  /**
   * Yields all items, or all items of one scope. Numbers above 2^53 are rounded; `exportLines` does not change them.
   */
  async *export<Value = unknown>(options: ExportOptions = {}): AsyncGenerator<ExportedItem<Value>, void, void> {
    for await (const line of this.exportLines(options)) yield JSON.parse(line) as ExportedItem<Value>;
  }

  /** Like `export`, but yields lines of NDJSON without line ends. */
  async *exportLines(options: ExportOptions = {}): AsyncGenerator<string, void, void> {
    const { exportedLines } = await loadPart(this.#transfer);
    yield* exportedLines(this.#calls, options);
  }

  /** Stores the lines or items of an export. Resolves when all of them are stored. The default timeout is one hour. */
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
}

type KeyOf<Values> = keyof Values & string;

/**
 * One scope of state, with value types by key. The methods are those of `WorkerState`, without the argument for the
 * scope.
 */
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
