import { backoffMs } from "@svc-runtime/protocol";
import { UNAVAILABLE_BACKOFF } from "../../../deliveries/call-failure.ts";
import type { Outbox, Watcher } from "../../../items/outbox.ts";
import type { SharedWatchers, StoredWatcher, WatcherState } from "../../../items/shared-watchers.ts";
import type { WatcherIndex } from "../../../items/watcher-index.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { Undo } from "../../../kernel/scope.ts";
import { Orphans } from "./orphans.ts";

/** A trigger of this engine. */
export interface SharedTrigger {
  readonly watcher: StoredWatcher;
  /** Begins to deliver its changes. */
  begin(): void;
  /** Resolves when no delivery is in flight any more. */
  end(): Promise<void>;
}

interface Held {
  readonly trigger: SharedTrigger;
  isDelivering: boolean;
  /** True while another engine may deliver, because the trigger's worker is disconnected from this engine. */
  hasYielded: boolean;
}

export interface SharedTriggersParts {
  readonly watchers: SharedWatchers;
  readonly outbox: Outbox;
  readonly index: WatcherIndex<Watcher>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The state triggers of a cluster. Each trigger is a watcher in the store, so that every engine stores the changes for
 * it. If several engines have the trigger, the store chooses one of them to deliver the changes.
 */
export class SharedTriggers {
  readonly orphans: Orphans;
  readonly #parts: SharedTriggersParts;
  readonly #known = new Map<string, { readonly state: WatcherState; readonly unindex: Undo }>();
  readonly #held = new Map<string, Held>();
  /** The last write about each watcher. The next write waits for it, so that writes about a watcher stay in order. */
  readonly #tails = new Map<string, Promise<void>>();
  readonly #timers = new Set<() => void>();
  #unlisten: Undo = () => {};
  #isStopped = false;

  constructor(parts: SharedTriggersParts) {
    this.#parts = parts;
    const { watchers, outbox } = parts;
    // Use `drop`, which deletes nothing if another engine has the trigger by now.
    const discard = async (id: string): Promise<number> => (await watchers.drop(id)) ?? 0;
    this.orphans = new Orphans({
      ...parts,
      outbox: {
        pending: (request) => outbox.pending(request),
        acknowledge: (deliveries) => outbox.acknowledge(deliveries),
        watchers: () => outbox.watchers(),
        discard,
      },
    });
  }

  /** Loads the stored watchers. Must resolve before the first write. */
  async start(): Promise<void> {
    const { watchers } = this.#parts;
    const changed = new Set<string>();
    this.#unlisten = watchers.onChange((id, state) => {
      changed.add(id);
      this.#changed(id, state);
    });
    for (const state of await watchers.list()) if (!changed.has(state.id)) this.#changed(state.id, state);
  }

  has(id: string): boolean {
    return this.#known.has(id);
  }

  add(trigger: SharedTrigger): void {
    const { id } = trigger.watcher;
    const held: Held = { trigger, isDelivering: false, hasYielded: false };
    this.#held.set(id, held);
    this.#write(id, () => this.#watch(held));
  }

  /** `how`: how the trigger ended. Undefined if the trigger has not ended, because the module stops or rebinds it. */
  remove(id: string, how: { readonly isTrusted: boolean; readonly isKept: boolean } | undefined): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    const { watchers, log } = this.#parts;
    const ended = held.trigger.end();
    this.#write(id, async () => {
      await ended;
      // Do nothing if the trigger has not ended, or was registered again meanwhile. If the module stops, the store
      // releases all triggers of this run.
      if (how === undefined || this.#held.has(id)) return;
      const deliveries = (await watchers.unwatch({ id, ...how })) ?? 0;
      const { name } = held.trigger.watcher;
      if (deliveries > 0)
        log.info("state trigger removed; its pending deliveries are discarded", { trigger: name, deliveries });
    });
  }

  /** Call when a trigger's worker has disconnected, or has connected again. */
  noteAway(id: string, isAway: boolean): void {
    const held = this.#held.get(id);
    if (held === undefined || held.hasYielded === isAway) return;
    // Yield also if no other engine has the trigger yet, because the worker may connect to another engine next.
    held.hasYielded = isAway;
    if (!isAway) {
      this.#write(id, () => this.#watch(held));
      return;
    }
    this.#write(id, async () => {
      if (held.isDelivering) await held.trigger.end();
      held.isDelivering = false;
      if (this.#held.get(id) === held) await this.#parts.watchers.yield(id);
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unlisten();
    this.orphans.close();
    for (const wake of this.#timers) wake();
    await Promise.all(this.#tails.values());
  }

  async #watch(held: Held): Promise<void> {
    const { watcher } = held.trigger;
    if (this.#held.get(watcher.id) === held) await this.#parts.watchers.watch(watcher);
  }

  #changed(id: string, state: WatcherState | undefined): void {
    const { index, watchers } = this.#parts;
    this.#known.get(id)?.unindex();
    this.#known.delete(id);
    if (state !== undefined) {
      const { scope, key, prefix } = state;
      const filter = { scope: scope ?? undefined, key: key ?? undefined, prefix };
      const watcher: Watcher = { id, kinds: new Set(state.kinds) };
      index.add(filter, watcher);
      this.#known.set(id, { state, unindex: () => index.remove(filter, watcher) });
    }
    if (state !== undefined && state.engines.length === 0) {
      if (!this.orphans.has(id)) this.orphans.add(id, state.name, { isAway: true });
    } else {
      this.orphans.adopt(id);
    }
    const held = this.#held.get(id);
    if (held === undefined) return;
    // While the trigger has yielded, this engine delivers nothing, so that another engine may begin at any time.
    const isOurs = state?.claimedBy === watchers.run && !held.hasYielded;
    if (isOurs && !held.isDelivering) {
      held.isDelivering = true;
      held.trigger.begin();
    } else if (state?.claimedBy !== watchers.run && held.isDelivering) {
      // Another engine got the trigger just before the worker connected to this engine again.
      held.isDelivering = false;
      void held.trigger.end();
    }
  }

  /** Runs the write after the earlier writes about the watcher. Retries it until it succeeds. */
  #write(id: string, write: () => Promise<void>): void {
    const before = this.#tails.get(id) ?? Promise.resolve();
    const tail = before
      .then(() => this.#tryUntilDone(id, write))
      .finally(() => {
        if (this.#tails.get(id) === tail) this.#tails.delete(id);
      });
    this.#tails.set(id, tail);
  }

  async #tryUntilDone(id: string, write: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await write();
        return;
      } catch (error) {
        if (this.#isStopped) return;
        if (attempt === 1)
          this.#parts.log.warn("a state trigger could not be stored; retrying", { watcher: id, error });
      }
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          cancel();
          this.#timers.delete(wake);
          resolve();
        };
        const cancel = this.#parts.clock.after(backoffMs(UNAVAILABLE_BACKOFF, attempt), wake);
        this.#timers.add(wake);
      });
      if (this.#isStopped) return;
    }
  }
}
