/** Which items a watcher subscribes to. An undefined member matches all scopes or all keys. */
interface Filter {
  readonly scope: string | undefined;
  readonly key: string | undefined;
  /** Prefix of keys. Ignored if `key` is set. */
  readonly prefix: string;
}

/** Watchers of one scope, or of all scopes. */
class ScopeWatchers<Watcher> {
  readonly #byKey = new Map<string, Set<Watcher>>();
  readonly #byPrefix = new Map<string, Set<Watcher>>();
  /** Number of prefixes by length, so that only existing lengths are looked up. */
  readonly #prefixLengths = new Map<number, number>();

  get isEmpty(): boolean {
    return this.#byKey.size === 0 && this.#byPrefix.size === 0;
  }

  add({ key, prefix }: Filter, watcher: Watcher): void {
    if (key !== undefined) addTo(this.#byKey, key, watcher);
    else if (addTo(this.#byPrefix, prefix, watcher))
      this.#prefixLengths.set(prefix.length, (this.#prefixLengths.get(prefix.length) ?? 0) + 1);
  }

  remove({ key, prefix }: Filter, watcher: Watcher): void {
    if (key !== undefined) {
      removeFrom(this.#byKey, key, watcher);
      return;
    }
    if (!removeFrom(this.#byPrefix, prefix, watcher)) return;
    const left = (this.#prefixLengths.get(prefix.length) ?? 1) - 1;
    if (left === 0) this.#prefixLengths.delete(prefix.length);
    else this.#prefixLengths.set(prefix.length, left);
  }

  collect(key: string, found: Watcher[]): void {
    const exact = this.#byKey.get(key);
    if (exact !== undefined) found.push(...exact);
    for (const length of this.#prefixLengths.keys()) {
      if (length > key.length) continue;
      const watchers = this.#byPrefix.get(length === 0 ? "" : key.slice(0, length));
      if (watchers !== undefined) found.push(...watchers);
    }
  }
}

/** Index of watchers by scope, key and prefix. Avoids a scan of all watchers. */
export class WatcherIndex<Watcher> {
  readonly #scopes = new Map<string, ScopeWatchers<Watcher>>();
  readonly #anyScope = new ScopeWatchers<Watcher>();

  add(filter: Filter, watcher: Watcher): void {
    this.#entry(filter.scope).add(filter, watcher);
  }

  remove(filter: Filter, watcher: Watcher): void {
    const entry = this.#entry(filter.scope);
    entry.remove(filter, watcher);
    if (filter.scope !== undefined && entry.isEmpty) this.#scopes.delete(filter.scope);
  }

  /** Returns the watchers of an item. Most items have none. */
  matching(scope: string, key: string): readonly Watcher[] {
    const found: Watcher[] = [];
    this.#scopes.get(scope)?.collect(key, found);
    this.#anyScope.collect(key, found);
    return found;
  }

  #entry(scope: string | undefined): ScopeWatchers<Watcher> {
    if (scope === undefined) return this.#anyScope;
    let entry = this.#scopes.get(scope);
    if (entry === undefined) {
      entry = new ScopeWatchers();
      this.#scopes.set(scope, entry);
    }
    return entry;
  }
}

/** Adds a watcher. Returns true if it is the first one of this name. */
function addTo<Watcher>(table: Map<string, Set<Watcher>>, name: string, watcher: Watcher): boolean {
  const others = table.get(name);
  if (others !== undefined) {
    others.add(watcher);
    return false;
  }
  table.set(name, new Set([watcher]));
  return true;
}

/** Removes a watcher. Returns true if no watcher of this name is left. */
function removeFrom<Watcher>(table: Map<string, Set<Watcher>>, name: string, watcher: Watcher): boolean {
  const others = table.get(name);
  if (others === undefined || !others.delete(watcher) || others.size > 0) return false;
  table.delete(name);
  return true;
}
