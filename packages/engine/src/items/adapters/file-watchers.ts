import type { Undo } from "../../kernel/scope.ts";
import type { AppliedWrite, Store } from "../../kernel/store-contract.ts";
import type { SharedWatchers, StoredWatcher, WatcherState } from "../shared-watchers.ts";
import type { ItemProcedures } from "./file-thread/procedures.ts";
import type { EndedOutput, WatcherOutput } from "./file-thread/watchers.ts";

type Listener = (id: string, state: WatcherState | undefined) => void;

/** The watchers in a store that the engines of a cluster share. */
export class FileWatchers implements SharedWatchers {
  readonly run: string;
  readonly #call: Store<ItemProcedures>["call"];
  readonly #listeners = new Set<Listener>();

  constructor(store: Store<ItemProcedures>, call: Store<ItemProcedures>["call"], onError: (error: unknown) => void) {
    this.run = store.run;
    this.#call = call;
    // Both listeners stay until the store closes, so their undo functions are not used.
    store.onApplied((applied) => {
      for (const { id, state } of changesOf(applied)) for (const listener of this.#listeners) listener(id, state);
    });
    store.onRunsGone(() => {
      this.#call("reassignWatchers", null).catch(onError);
    });
  }

  async watch(watcher: StoredWatcher): Promise<void> {
    await this.#call("watch", { engine: this.run, watcher });
  }

  async unwatch(request: Parameters<SharedWatchers["unwatch"]>[0]): Promise<number | undefined> {
    return discardedOf(await this.#call("unwatch", { ...request, engine: this.run }));
  }

  isClaimed(id: string): Promise<boolean> {
    return this.#call("isClaimed", { id, engine: this.run }, { isLatest: true });
  }

  async yield(id: string): Promise<void> {
    await this.#call("yieldWatcher", { id, engine: this.run });
  }

  async drop(id: string): Promise<number | undefined> {
    return discardedOf(await this.#call("dropWatcher", { id }));
  }

  list(): Promise<readonly WatcherState[]> {
    return this.#call("sharedWatchers", null);
  }

  onChange(listener: Listener): Undo {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function discardedOf({ state, discarded }: EndedOutput): number | undefined {
  return state === undefined ? discarded : undefined;
}

function changesOf({ procedure, output }: AppliedWrite<ItemProcedures>): readonly WatcherOutput[] {
  switch (procedure) {
    case "watch":
    case "unwatch":
    case "yieldWatcher":
    case "dropWatcher":
      return [output];
    case "reassignWatchers":
      return output;
    default:
      return [];
  }
}
