import type { Undo } from "../kernel/scope.ts";
import type { ChangeKind } from "./outbox.ts";

/** The filter of a watcher in a cluster. It is stored, so that writes of all engines reach the watcher. */
export interface StoredWatcher {
  readonly id: string;
  /** Null matches every scope. A null `key` matches every key. */
  readonly scope: string | null;
  readonly key: string | null;
  readonly prefix: string;
  readonly kinds: readonly ChangeKind[];
  /**
   * True if a trusted worker registered the watcher. Once the stored value is true, registering it again with false
   * does not change it.
   */
  readonly isTrusted: boolean;
  /** Name in logs. */
  readonly name: string;
}

/** A stored watcher, and the engines that serve it. */
export interface WatcherState extends StoredWatcher {
  /**
   * Runs of the engines that have the watcher's trigger. Empty while no engine has it; the watcher then waits until its
   * trigger is registered again.
   */
  readonly engines: readonly string[];
  /** Run of the engine that delivers the watcher's changes. */
  readonly claimedBy: string | undefined;
}

/** Watchers that the engines of a cluster share. One engine at a time delivers the changes of a watcher. */
export interface SharedWatchers {
  /** Id of this engine's run in the store. */
  readonly run: string;
  /** Stores the watcher, and adds this engine to the engines that can deliver its changes. */
  watch(watcher: StoredWatcher): Promise<void>;
  /**
   * Removes this engine from the watcher's engines. If no engine is left, deletes the watcher and its pending
   * deliveries. The watcher is kept nevertheless if `isKept` is true, or if a trusted worker registered it and
   * `isTrusted` is false. Resolves with the number of deleted deliveries, or with undefined if the watcher still
   * exists.
   */
  unwatch(request: {
    readonly id: string;
    readonly isTrusted: boolean;
    readonly isKept: boolean;
  }): Promise<number | undefined>;
  /**
   * Resolves with true if this engine delivers the watcher's changes. Takes all earlier writes of all engines into
   * account, because this engine's replica may be out of date: another engine may have taken over the watcher while
   * this engine was disconnected.
   */
  isClaimed(id: string): Promise<boolean>;
  /** Hands the watcher over to another engine, if there is one that can deliver. */
  yield(id: string): Promise<void>;
  /**
   * Deletes a watcher that has no engines, and its pending deliveries. Resolves with the number of deleted deliveries,
   * or with undefined if the watcher has an engine.
   */
  drop(id: string): Promise<number | undefined>;
  list(): Promise<readonly WatcherState[]>;
  /**
   * Calls the listener for each change of a watcher, in the order of the store's writes. `state` is undefined if the
   * watcher was deleted.
   */
  onChange(listener: (id: string, state: WatcherState | undefined) => void): Undo;
}
