import type { Undo } from "../kernel/scope.ts";
import type { ChangeKind } from "./outbox.ts";

/** What a watcher of a cluster wants to know. It is stored, so that the writes of every engine reach it. */
export interface StoredWatcher {
  readonly id: string;
  /** Null: any. */
  readonly scope: string | null;
  readonly key: string | null;
  readonly prefix: string;
  readonly kinds: readonly ChangeKind[];
  /** True if a trusted worker registered it. False keeps the stored value. */
  readonly isTrusted: boolean;
  /** Name in logs. */
  readonly name: string;
}

/** A stored watcher, and who serves it. */
export interface WatcherState extends StoredWatcher {
  /** Runs of the engines that have its trigger. Empty: it waits for its trigger to be registered again. */
  readonly engines: readonly string[];
  /** The run that delivers its changes. */
  readonly claimedBy: string | undefined;
}

/** Watchers that the engines of a cluster share. One engine delivers the changes of each. */
export interface SharedWatchers {
  /** Id of this engine's run in the store. */
  readonly run: string;
  /** Adds this engine to the watcher's engines, as one that can deliver. */
  watch(watcher: StoredWatcher): Promise<void>;
  /**
   * Removes this engine. With the last engine the watcher ends, unless `isKept`, or it is a trusted worker's and
   * `isTrusted` is false. Its pending deliveries end with it; resolves with their number, or with undefined if it goes
   * on.
   */
  unwatch(request: {
    readonly id: string;
    readonly isTrusted: boolean;
    readonly isKept: boolean;
  }): Promise<number | undefined>;
  /**
   * Resolves with whether this engine delivers the watcher's changes, after all writes of all engines before. What this
   * engine has seen so far does not tell that: while it was cut off, another engine may have got the watcher.
   */
  isClaimed(id: string): Promise<boolean>;
  /** Lets another engine deliver, if there is one that can. */
  yield(id: string): Promise<void>;
  /** Ends a watcher without engines and its deliveries. Resolves with their number, or with undefined if it has one. */
  drop(id: string): Promise<number | undefined>;
  list(): Promise<readonly WatcherState[]>;
  /** Calls the listener in the order of the store's writes; with undefined when the watcher has ended. */
  onChange(listener: (id: string, state: WatcherState | undefined) => void): Undo;
}
