import { ask, conditionOf, type HelperCalls, itemsOfPages, pageChoices, updateChoices } from "../items/helper-calls.ts";
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
import { StateScope } from "./state-scope.ts";
import { exportedLines, importItems } from "./state-transfer.ts";
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

/**
 * Values by scope and key, kept by the module `svc-state` and shared by all workers. Scopes and keys are 1 to 1,024 bytes of any text.
 * Results have the members that the functions `state::*` answer. All of it rejects with CallError, as `worker.call` does; a write whose
 * `ifVersion` does not hold, with `state_conflict` and `details` `{expected, actual}`.
 */
export class WorkerState {
  readonly #calls: HelperCalls;

  /** Not for users: a worker has one, and so has a handler's context. */
  constructor(calls: HelperCalls) {
    this.#calls = calls;
  }

  /** One scope, with the types of its values: `worker.state.scope<{ total: number }>("math")`. */
  scope<Values = Readonly<Record<string, unknown>>>(scope: string): StateScope<Values> {
    return new StateScope<Values>(this, scope);
  }

  /** The value, or null. */
  get<Value = unknown>(scope: string, key: string, options?: HelperOptions): Promise<Value | null> {
    return ask(this.#calls, "state::get", { scope, key }, options);
  }

  /** The value with its version, or null. */
  getEntry<Value = unknown>(scope: string, key: string, options?: HelperOptions): Promise<StateEntry<Value> | null> {
    return ask(this.#calls, "state::get_entry", { scope, key }, options);
  }

  set<Value>(scope: string, key: string, value: Value, options: WriteOptions = {}): Promise<SetResult<Value>> {
    return ask(this.#calls, "state::set", { scope, key, ...conditionOf(options), value }, options);
  }

  /** Changes a value where it lies; an item that does not exist begins as `{}`. Operations that fail are in `errors`: it does not reject for them. */
  update<Value = unknown>(scope: string, key: string, ops: readonly UpdateOp[], options: UpdateOptions = {}): Promise<UpdateResult<Value>> {
    return ask(this.#calls, "state::update", { scope, key, ...updateChoices(options), ops }, options);
  }

  /** Answers the value that was there, or null. */
  delete<Value = unknown>(scope: string, key: string, options: ConditionOptions = {}): Promise<Value | null> {
    return ask(this.#calls, "state::delete", { scope, key, ...conditionOf(options) }, options);
  }

  /** In the order of the keys, 1 to 1,000; null for what there is not. */
  async getMany<Value = unknown>(scope: string, keys: readonly string[], options?: HelperOptions): Promise<readonly (StateEntry<Value> | null)[]> {
    const { items } = await ask<{ readonly items: readonly (StateEntry<Value> | null)[] }>(this.#calls, "state::get_many", { scope, keys }, options);
    return items;
  }

  /** 1 to 1,000 writes: all of them take effect together, or none does. */
  setMany(items: readonly StateWrite[], options?: HelperOptions): Promise<SetManyResult> {
    const writes = items.map(({ scope, key, value, ...conditions }) => ({ scope, key, ...conditionOf(conditions), value }));
    return ask(this.#calls, "state::set_many", { items: writes }, options);
  }

  deleteMany(scope: string, which: StateSelection, options?: HelperOptions): Promise<{ readonly deleted: number }> {
    return ask(this.#calls, "state::delete_many", { scope, ...which }, options);
  }

  /** All values of a scope, in the order of their keys. Rejects with `payload_too_large` when they do not fit one answer. */
  list<Value = unknown>(scope: string, options?: HelperOptions): Promise<readonly Value[]> {
    return ask(this.#calls, "state::list", { scope }, options);
  }

  /** All items of a scope, in the order of their keys, page by page. What exists throughout comes exactly once, whatever is written meanwhile. */
  entries<Value = unknown>(scope: string, options: IterateOptions = {}): AsyncGenerator<StateEntry<Value>, void, void> {
    return itemsOfPages((page) => this.entriesPage<Value>(scope, page), options);
  }

  entriesPage<Value = unknown>(scope: string, options: PageOptions = {}): Promise<Page<StateEntry<Value>>> {
    return ask(this.#calls, "state::entries", { scope, ...pageChoices(options) }, options);
  }

  /** The scopes that hold something, in order. */
  async listGroups(options?: HelperOptions): Promise<readonly string[]> {
    return (await ask<{ readonly groups: readonly string[] }>(this.#calls, "state::list_groups", {}, options)).groups;
  }

  /** The scopes that hold something, in order, with their sizes. */
  groups(options: IterateOptions = {}): AsyncGenerator<StateGroup, void, void> {
    return itemsOfPages((page) => this.groupsPage(page), options);
  }

  groupsPage(options: PageOptions = {}): Promise<Page<StateGroup>> {
    return ask(this.#calls, "state::groups", pageChoices(options), options);
  }

  /** All items, or those of a scope, one after the other. `exportLines` keeps numbers beyond 2^53 as they are. */
  async *export<Value = unknown>(options: ExportOptions = {}): AsyncGenerator<ExportedItem<Value>, void, void> {
    for await (const line of exportedLines(this.#calls, options)) yield JSON.parse(line) as ExportedItem<Value>;
  }

  /** As `export`, but lines of NDJSON, without their ends. */
  exportLines(options: ExportOptions = {}): AsyncGenerator<string, void, void> {
    return exportedLines(this.#calls, options);
  }

  /** Stores what an export gave, lines or items; resolves when all of it is stored. Its deadline is an hour unless `timeout_ms` says otherwise. */
  import(items: Iterable<ImportItem> | AsyncIterable<ImportItem>, options: ImportOptions = {}): Promise<ImportResult> {
    return importItems(this.#calls, items, options);
  }

  /** Writes all state of this moment to a file on the engine's machine, while others go on reading and writing. */
  snapshot({ name, ...options }: SnapshotOptions = {}): Promise<SnapshotResult> {
    return ask(this.#calls, "state::snapshot", { name }, options);
  }
}
