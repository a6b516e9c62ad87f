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
import type { SetManyResult, StateEntry, StateSelection } from "./state-types.ts";
import type { WorkerState } from "./worker-state.ts";

type KeyOf<Values> = keyof Values & string;

/** One scope of state, with value types by key. The methods are those of `WorkerState` without the scope. */
export class StateScope<Values = Readonly<Record<string, unknown>>> {
  readonly name: string;
  readonly #state: WorkerState;

  /** Internal: `worker.state.scope(name)` creates it. */
  constructor(state: WorkerState, name: string) {
    this.#state = state;
    this.name = name;
  }

  get<Key extends KeyOf<Values>>(key: Key, options?: HelperOptions): Promise<Values[Key] | null> {
    return this.#state.get<Values[Key]>(this.name, key, options);
  }

  getEntry<Key extends KeyOf<Values>>(key: Key, options?: HelperOptions): Promise<StateEntry<Values[Key]> | null> {
    return this.#state.getEntry<Values[Key]>(this.name, key, options);
  }

  set<Key extends KeyOf<Values>>(
    key: Key,
    value: Values[Key],
    options?: WriteOptions,
  ): Promise<SetResult<Values[Key]>> {
    return this.#state.set<Values[Key]>(this.name, key, value, options);
  }

  update<Key extends KeyOf<Values>>(
    key: Key,
    ops: readonly UpdateOp[],
    options?: UpdateOptions,
  ): Promise<UpdateResult<Values[Key]>> {
    return this.#state.update<Values[Key]>(this.name, key, ops, options);
  }

  delete<Key extends KeyOf<Values>>(key: Key, options?: ConditionOptions): Promise<Values[Key] | null> {
    return this.#state.delete<Values[Key]>(this.name, key, options);
  }

  getMany<Key extends KeyOf<Values>>(
    keys: readonly Key[],
    options?: HelperOptions,
  ): Promise<readonly (StateEntry<Values[Key]> | null)[]> {
    return this.#state.getMany<Values[Key]>(this.name, keys, options);
  }

  /** Writes all values atomically. */
  setMany(values: Readonly<Partial<Values>>, options?: HelperOptions): Promise<SetManyResult> {
    const items = Object.entries(values).map(([key, value]) => ({ scope: this.name, key, value }));
    return this.#state.setMany(items, options);
  }

  deleteMany(which: StateSelection, options?: HelperOptions): Promise<{ readonly deleted: number }> {
    return this.#state.deleteMany(this.name, which, options);
  }

  list(options?: HelperOptions): Promise<readonly Values[KeyOf<Values>][]> {
    return this.#state.list(this.name, options);
  }

  entries(options?: IterateOptions): AsyncGenerator<StateEntry<Values[KeyOf<Values>]>, void, void> {
    return this.#state.entries(this.name, options);
  }

  entriesPage(options?: PageOptions): Promise<Page<StateEntry<Values[KeyOf<Values>]>>> {
    return this.#state.entriesPage(this.name, options);
  }
}
