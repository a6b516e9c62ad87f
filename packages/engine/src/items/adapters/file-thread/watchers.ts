import { firstChoice } from "../../../collections/rendezvous.ts";
import type { Database } from "../../../store/driver.ts";
import { read, type StoreRuns, write } from "../../../store/procedures.ts";
import type { ChangeKind } from "../../outbox.ts";
import type { ItemAddress } from "../../plan-write.ts";
import type { StoredWatcher, WatcherState } from "../../shared-watchers.ts";
import { WatcherIndex } from "../../watcher-index.ts";
import { type NoticeInput, openDropDeliveries } from "./deliveries.ts";
import { original, stored } from "./stored-text.ts";

type WatcherRow = {
  readonly id: string;
  readonly scope: string | null;
  readonly key: string | null;
  readonly prefix: string;
  /** Names of the kinds, separated by spaces. */
  readonly kinds: string;
  readonly trusted: number;
  readonly name: string;
  readonly claimed_by: string | null;
};
/** A watcher and its position in the order of ids. */
interface IndexedWatcher {
  readonly place: number;
  readonly id: string;
  readonly kinds: readonly ChangeKind[];
}
type EngineRow = { readonly engine: string; readonly can_deliver: number };

/** A change of a watcher. `state` is undefined if the watcher does not exist any more. */
export interface WatcherOutput {
  readonly id: string;
  readonly state: WatcherState | undefined;
}

/** Result of a request that may delete a watcher. */
export interface EndedOutput extends WatcherOutput {
  /** Number of pending deliveries that were deleted with the watcher. */
  readonly discarded: number;
}

/** Finds the watchers of a write. */
export interface WatcherTable {
  matching(item: ItemAddress): NoticeInput["watchers"];
  /** Must be called when a watcher was added or removed, and after a rollback. */
  changed(): void;
}

export function openWatcherTable(database: Database): WatcherTable {
  const all = database.prepare<Pick<WatcherRow, "id" | "scope" | "key" | "prefix" | "kinds">>(
    "SELECT id, scope, key, prefix, kinds FROM shared_watchers ORDER BY id",
  );
  /**
   * Index in memory, because each write searches it. Undefined if it was not read since the last change of a watcher.
   */
  let index: WatcherIndex<IndexedWatcher> | undefined;
  function read(): WatcherIndex<IndexedWatcher> {
    const found = new WatcherIndex<IndexedWatcher>();
    for (const [place, row] of all.all().entries())
      found.add(filterOf(row), { place, id: original(row.id), kinds: kindsOf(row.kinds) });
    return found;
  }
  return {
    matching({ scope, key }) {
      index ??= read();
      // The order must be the same on every engine, because it is part of the answer, and replicas compare their
      // answers.
      return [...index.matching(scope, key)].sort((a, b) => a.place - b.place).map(({ id, kinds }) => ({ id, kinds }));
    },
    changed() {
      index = undefined;
    },
  };
}

/**
 * Procedures for the watchers of a cluster. They decide which engine delivers the changes of a watcher. Every replica
 * runs these procedures, so all engines agree on the decision.
 */
export function openWatcherProcedures(database: Database, table: WatcherTable, runs: StoreRuns) {
  const put = database.prepare(
    `INSERT INTO shared_watchers (id, scope, key, prefix, kinds, trusted, name) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET trusted = max(trusted, excluded.trusted)`,
  );
  const one = database.prepare<WatcherRow>("SELECT * FROM shared_watchers WHERE id = ?");
  const all = database.prepare<WatcherRow>("SELECT * FROM shared_watchers ORDER BY id");
  const remove = database.prepare("DELETE FROM shared_watchers WHERE id = ?");
  const claim = database.prepare("UPDATE shared_watchers SET claimed_by = ? WHERE id = ?");
  const engines = database.prepare<EngineRow>(
    "SELECT engine, can_deliver FROM watcher_engines WHERE watcher = ? ORDER BY engine",
  );
  const putEngine = database.prepare(
    `INSERT INTO watcher_engines (watcher, engine, can_deliver) VALUES (?, ?, ?)
     ON CONFLICT (watcher, engine) DO UPDATE SET can_deliver = excluded.can_deliver`,
  );
  const dropDeliveries = openDropDeliveries(database);
  const removeEngine = database.prepare("DELETE FROM watcher_engines WHERE watcher = ? AND engine = ?");

  function enginesOf(id: string): readonly EngineRow[] {
    return engines.all(id).filter(({ engine }) => {
      if (runs.isMember(engine)) return true;
      removeEngine.run(id, engine);
      return false;
    });
  }

  /**
   * Assigns the watcher to an engine that can deliver, unless its present engine can. `id` is the encoded id
   * (`stored`).
   */
  function assign(id: string): WatcherOutput {
    const row = one.get(id);
    if (row === undefined) return { id: original(id), state: undefined };
    const found = enginesOf(id);
    const able = found.filter(({ can_deliver }) => can_deliver === 1);
    let claimedBy = row.claimed_by;
    if (!able.some(({ engine }) => engine === claimedBy)) {
      const candidates = able.length > 0 ? able : found.filter(({ engine }) => engine === claimedBy);
      const choice =
        firstChoice(
          id,
          (candidates.length > 0 ? candidates : found).map(({ engine }) => engine),
        ) ?? null;
      if (choice !== claimedBy) claim.run(choice, id);
      claimedBy = choice;
    }
    return { id: original(id), state: stateOf(row, found, claimedBy) };
  }

  /**
   * Deletes a watcher without engines and its deliveries. The deliveries must not remain, because a new watcher with
   * the same id would get them. `id` is the encoded id (`stored`).
   */
  function endUnused(id: string): EndedOutput {
    if (enginesOf(id).length > 0) return { ...assign(id), discarded: 0 };
    remove.run(id);
    table.changed();
    return { id: original(id), state: undefined, discarded: dropDeliveries(id) };
  }

  function readState(row: WatcherRow): WatcherState {
    const found = engines.all(row.id).filter(({ engine }) => runs.isMember(engine));
    return stateOf(row, found, row.claimed_by);
  }

  return {
    watch: write(({ engine, watcher }: { readonly engine: string; readonly watcher: StoredWatcher }): WatcherOutput => {
      const { scope, key, prefix, kinds, isTrusted, name } = watcher;
      const id = stored(watcher.id);
      const [scopeText, keyText] = [scope === null ? null : stored(scope), key === null ? null : stored(key)];
      put.run(id, scopeText, keyText, stored(prefix), kinds.join(" "), isTrusted ? 1 : 0, stored(name));
      table.changed();
      putEngine.run(id, engine, 1);
      return assign(id);
    }),
    unwatch: write((input: UnwatchInput): EndedOutput => {
      const id = stored(input.id);
      removeEngine.run(id, input.engine);
      const row = one.get(id);
      const mayEnd = !input.isKept && (input.isTrusted || row?.trusted === 0);
      return mayEnd ? endUnused(id) : { ...assign(id), discarded: 0 };
    }),
    isClaimed: read(
      ({ engine, id }: { readonly engine: string; readonly id: string }): boolean =>
        one.get(stored(id))?.claimed_by === engine,
    ),
    yieldWatcher: write(({ engine, id }: { readonly engine: string; readonly id: string }): WatcherOutput => {
      putEngine.run(stored(id), engine, 0);
      return assign(stored(id));
    }),
    /** Assigns the watchers of engines that are gone to other engines. */
    reassignWatchers: write((_: null): readonly WatcherOutput[] => all.all().map(({ id }) => assign(id))),
    dropWatcher: write(({ id }: { readonly id: string }): EndedOutput => endUnused(stored(id))),
    sharedWatchers: read((_: null): readonly WatcherState[] => all.all().map(readState)),
  };
}

export interface UnwatchInput {
  readonly engine: string;
  readonly id: string;
  readonly isTrusted: boolean;
  readonly isKept: boolean;
}

function filterOf({ scope, key, prefix }: Pick<WatcherRow, "scope" | "key" | "prefix">) {
  return {
    scope: scope === null ? undefined : original(scope),
    key: key === null ? undefined : original(key),
    prefix: original(prefix),
  };
}

function stateOf(row: WatcherRow, engines: readonly EngineRow[], claimedBy: string | null): WatcherState {
  const { scope = null, key = null, prefix } = filterOf(row);
  return {
    ...{ id: original(row.id), scope, key, prefix },
    kinds: kindsOf(row.kinds),
    isTrusted: row.trusted === 1,
    name: original(row.name),
    engines: engines.map(({ engine }) => engine),
    claimedBy: claimedBy ?? undefined,
  };
}

function kindsOf(text: string): readonly ChangeKind[] {
  return text.split(" ") as ChangeKind[];
}
