import { createHash } from "node:crypto";
import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { CallError } from "@svc-runtime/protocol";
import { itemName } from "../../../items/item-cache.ts";
import type { ItemStore, NumberedChange } from "../../../items/item-store.ts";
import type { Notice, Watcher } from "../../../items/outbox.ts";
import { WatcherIndex } from "../../../items/watcher-index.ts";
import type { ModuleContext, TriggerBinding } from "../../../kernel/module.ts";
import type { Undo } from "../../../kernel/scope.ts";
import { SavedSet } from "../../../store/saved-set.ts";
import type { ChangeListener, WriteOrigin } from "../writes.ts";
import { Deliveries, READS_VALUES } from "./deliveries.ts";
import { withoutDelivery } from "./delivery-baggage.ts";
import { DeliveryBudget } from "./delivery-window.ts";
import { describeChain, encodeOrigin } from "./origin.ts";
import { Orphans } from "./orphans.ts";
import { STATE_TRIGGER_TYPES, type StateTriggerSettings, stateTriggerSettings } from "./settings.ts";
import { SharedTriggers } from "./shared-triggers.ts";
import { WriteCauses } from "./write-causes.ts";

/** Maximum number of chained deliveries. A write that would trigger a further one is rejected. */
const MAX_DEPTH = 16;

/** Time that running calls get when the module stops, in milliseconds. The engine gives the module twice this time. */
const STOP_GRACE_MS = 5_000;

/** File with the list of state triggers. It is in the data folder, next to the database. */
const REMEMBERED_FILE = "state-triggers.json";

/** Prefix in this file for bindings that only restricted connections registered. Entries without it are JSON. */
const RESTRICTED = "restricted ";

/** Calls functions when items change. See README.md. */
export class StateTriggers implements ChangeListener {
  readonly #context: ModuleContext<unknown>;
  readonly #store: Pick<ItemStore, "outbox" | "durability" | "sharedWatchers">;
  readonly #index = new WatcherIndex<Watcher>();
  readonly #causes: WriteCauses;
  readonly #budget = new DeliveryBudget();
  readonly #orphans: Orphans;
  readonly #remembered: SavedSet | undefined;
  /** Set in a cluster. */
  readonly #shared: SharedTriggers | undefined;
  /** Deliveries by watcher id. */
  readonly #bound = new Map<string, Deliveries>();
  /**
   * Watchers of trusted workers, bound or orphaned. A restricted connection that removes an equal trigger must not
   * discard their deliveries.
   */
  readonly #trusted = new Set<string>();
  /** Resolves when removed bindings have no deliveries in flight, by watcher id. */
  readonly #ending = new Map<string, Promise<void>>();
  /** Bindings by watcher id, in a cluster. */
  readonly #bindings = new Map<string, TriggerBinding<StateTriggerSettings>>();
  /** Watcher ids by binding id. */
  readonly #watcherOf = new Map<string, string>();
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  #unlisten: Undo = () => {};
  #stopped = false;

  constructor(context: ModuleContext<unknown>, store: Pick<ItemStore, "outbox" | "durability" | "sharedWatchers">) {
    const { clock, log, dataDir } = context;
    this.#context = context;
    this.#store = store;
    this.#causes = new WriteCauses(clock);
    this.#signal = AbortSignal.any([context.signal, this.#abort.signal]);
    // No maximum, because each running call adds a listener.
    setMaxListeners(0, this.#signal);
    const { outbox, sharedWatchers: watchers } = store;
    this.#shared =
      watchers === undefined ? undefined : new SharedTriggers({ watchers, outbox, index: this.#index, clock, log });
    this.#orphans = this.#shared?.orphans ?? new Orphans({ index: this.#index, outbox, clock, log });
    // The list is not saved in two cases: deliveries in an in-memory store do not survive a restart anyway; in a
    // cluster, the store has the list.
    this.#remembered =
      store.durability === "memory" || this.#shared !== undefined
        ? undefined
        : new SavedSet({ file: join(dataDir, REMEMBERED_FILE), what: "the list of state triggers", clock, log });
  }

  /** Loads the triggers of the last run and registers the trigger types. Must resolve before the first write. */
  async start(): Promise<void> {
    const context = this.#context;
    const waiting = new Map((await this.#store.outbox.watchers()).map((one) => [one.watcher, one.waiting]));
    await this.#shared?.start();
    for (const entry of (await this.#remembered?.load()) ?? []) this.#expect(entry, waiting);
    for (const watcher of waiting.keys()) {
      if (this.#orphans.has(watcher) || this.#shared?.has(watcher) === true) continue;
      this.#trusted.add(watcher);
      this.#orphans.add(watcher, watcher, { onDiscarded: () => this.#trusted.delete(watcher) });
    }
    this.#unlisten = context.directory.onChange(({ kind, id }) => {
      const watcher = kind === "trigger" ? this.#watcherOf.get(id) : undefined;
      if (watcher === undefined) return;
      this.#bound.get(watcher)?.wake();
      this.#noteAway(watcher);
    });
    for (const [type, kinds] of Object.entries(STATE_TRIGGER_TYPES)) {
      context.provideTrigger({
        type,
        summary:
          type === "state"
            ? "Fires when an item of svc-state changes"
            : `Fires when an item of svc-state is ${kinds.join()}`,
        settings: stateTriggerSettings(kinds),
        bind: (binding) => this.#bind(binding),
      });
    }
  }

  notice(scope: string, key: string, origin: WriteOrigin): Notice | undefined {
    const watchers = this.#index.matching(scope, key);
    if (watchers.length === 0) return undefined;
    const cause = this.#causes.causeOf(origin, itemName(scope, key), watchers);
    const depth = cause?.depth ?? 0;
    if (depth >= MAX_DEPTH) throw loop(scope, key, describeChain(cause?.chain ?? []));
    const text = encodeOrigin({
      traceparent: origin.traceparent,
      baggage: withoutDelivery(origin.baggage),
      depth,
      chain: cause?.chain ?? [],
    });
    // In a cluster the store itself finds the watchers, because further watchers may be stored before the write is.
    return { watchers: this.#shared === undefined ? watchers : [], origin: text };
  }

  changed(changes: readonly NumberedChange[], origin: string | undefined): void {
    // Fast path: most writes have no watchers, and copying their changes would be the slowest part.
    if (origin === undefined) return;
    for (const { seq, watchers, ...change } of changes) {
      if (seq === undefined) continue;
      for (const watcher of watchers) {
        this.#bound.get(watcher)?.add({ seq, watcher, change, origin });
        this.#orphans.addedTo(watcher);
      }
    }
  }

  unclear(notices: readonly Notice[]): void {
    const ids = new Set(notices.flatMap(({ watchers }) => watchers.map(({ id }) => id)));
    for (const id of ids) this.#bound.get(id)?.rereadOutbox();
  }

  /** Stops. Resolves when the running deliveries have ended. Pending deliveries stay for the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unlisten();
    this.#orphans.close();
    const cancel = this.#context.clock.after(STOP_GRACE_MS, () => this.#abort.abort());
    await Promise.all([...[...this.#bound.values()].map((deliveries) => deliveries.stop()), ...this.#ending.values()]);
    cancel();
    await this.#shared?.stop();
    await this.#remembered?.close();
  }

  #bind(binding: TriggerBinding<StateTriggerSettings>): Undo {
    const refusal = binding.callRefusal(READS_VALUES);
    if (refusal !== undefined) {
      throw new CallError(
        "FORBIDDEN",
        `a state trigger requires the permission to call ${READS_VALUES}: ${refusal.message}`,
      );
    }
    const { settings, functionId, key } = binding;
    const id = watcherId(key, functionId);
    const watcher: Watcher = { id, kinds: settings.kinds };
    if (settings.conditionFunctionId !== undefined) binding.needs([settings.conditionFunctionId]);
    if (this.#shared !== undefined) return this.#bindShared(this.#shared, id, binding);
    this.#orphans.adopt(id);
    const deliveries = this.#deliver(id, binding);
    this.#watcherOf.set(binding.id, id);
    this.#index.add(settings, watcher);
    if (binding.principal.isTrusted) this.#trusted.add(id);
    this.#remember(key, id);
    const stopListening = binding.onPrincipalChange(() => {
      if (binding.principal.isTrusted) this.#trusted.add(id);
      else if (binding.isGivenUp) this.#trusted.delete(id);
      this.#remember(key, id);
    });
    return () => {
      stopListening();
      this.#index.remove(settings, watcher);
      this.#watcherOf.delete(binding.id);
      this.#bound.delete(id);
      this.#stopDeliveries(id, deliveries);
      if (this.#stopped || binding.ended === undefined) return;
      const onDiscarded = (): void => this.#removeSaved(key, id);
      if (binding.ended === "lapsed" || (!binding.principal.isTrusted && this.#trusted.has(id))) {
        this.#orphans.add(id, nameOf(functionId, settings), { filter: settings, onDiscarded, isAway: true });
      } else {
        onDiscarded();
        this.#discard(id, nameOf(functionId, settings));
      }
    };
  }

  #bindShared(shared: SharedTriggers, id: string, binding: TriggerBinding<StateTriggerSettings>): Undo {
    const { settings, functionId } = binding;
    const { scope, key, prefix, kinds } = settings;
    const name = nameOf(functionId, settings);
    const filter = { scope: scope ?? null, key: key ?? null, prefix, kinds: [...kinds] };
    this.#watcherOf.set(binding.id, id);
    this.#bindings.set(id, binding);
    shared.add({
      watcher: { id, ...filter, isTrusted: binding.principal.isTrusted, name },
      begin: () => void this.#deliver(id, binding),
      end: () => this.#endDeliveries(id),
    });
    return () => {
      this.#watcherOf.delete(binding.id);
      this.#bindings.delete(id);
      const isEnded = !this.#stopped && binding.ended !== undefined;
      const how = { isTrusted: binding.principal.isTrusted, isKept: binding.ended === "lapsed" };
      shared.remove(id, isEnded ? how : undefined);
    };
  }

  /** In a cluster, another engine delivers while the trigger's worker is away. */
  #noteAway(id: string): void {
    const binding = this.#bindings.get(id);
    if (binding !== undefined) this.#shared?.noteAway(id, binding.isAway);
  }

  #deliver(id: string, binding: TriggerBinding<StateTriggerSettings>): Deliveries {
    const { clock, log, directory, telemetry } = this.#context;
    const { outbox, sharedWatchers } = this.#store;
    const deliveries = new Deliveries({
      ...{ binding, outbox },
      watcher: id,
      causes: this.#causes,
      budget: this.#budget,
      clock,
      log,
      telemetry,
      signal: this.#signal,
      propagatesTrace: (workerId) => (directory.workerById(workerId)?.features.length ?? 0) > 0,
      isClaimed: sharedWatchers && (() => sharedWatchers.isClaimed(id)),
      after: this.#ending.get(id) ?? Promise.resolve(),
    });
    this.#bound.set(id, deliveries);
    return deliveries;
  }

  async #endDeliveries(id: string): Promise<void> {
    const deliveries = this.#bound.get(id);
    if (deliveries === undefined) return;
    this.#bound.delete(id);
    this.#stopDeliveries(id, deliveries);
    await this.#ending.get(id);
  }

  #stopDeliveries(id: string, deliveries: Deliveries): void {
    const ended = Promise.all([this.#ending.get(id), deliveries.stop()]).then(() => {
      if (this.#ending.get(id) === ended) this.#ending.delete(id);
    });
    this.#ending.set(id, ended);
  }

  /** Adds a binding of the last run as an orphan, because it may be registered again. */
  #expect(entry: string, waiting: ReadonlyMap<string, number>): void {
    const isRestricted = entry.startsWith(RESTRICTED);
    const key = isRestricted ? entry.slice(RESTRICTED.length) : entry;
    const binding = readKey(key);
    if (binding === undefined) {
      this.#remembered?.remove(entry);
      return;
    }
    const { functionId, settings } = binding;
    const id = watcherId(key, functionId);
    if (!isRestricted) this.#trusted.add(id);
    const onDiscarded = (): void => this.#removeSaved(key, id);
    this.#orphans.add(id, nameOf(functionId, settings), { filter: settings, onDiscarded, waiting: waiting.get(id) });
  }

  #remember(key: string, id: string): void {
    const isTrusted = this.#trusted.has(id);
    this.#remembered?.add(isTrusted ? key : RESTRICTED + key);
    this.#remembered?.remove(isTrusted ? RESTRICTED + key : key);
  }

  #removeSaved(key: string, id: string): void {
    this.#trusted.delete(id);
    this.#remembered?.remove(key);
    this.#remembered?.remove(RESTRICTED + key);
  }

  #discard(id: string, trigger: string): void {
    const { log } = this.#context;
    this.#store.outbox.discard(id).then(
      (deliveries) => {
        if (deliveries > 0)
          log.info("state trigger removed; its pending deliveries are discarded", { trigger, deliveries });
      },
      // The next start adds the watcher as an orphan, and its deliveries are discarded later.
      (error: unknown) => log.warn("failed to discard deliveries of a state trigger", { trigger, error }),
    );
  }
}

function loop(scope: string, key: string, chain: string): CallError {
  const item = `${JSON.stringify(key)} in scope ${JSON.stringify(scope)}`;
  const message = `trigger loop: writing ${item} would be the next of ${MAX_DEPTH} chained trigger deliveries; the chain ends with ${chain}; nothing was written`;
  return new CallError("trigger_loop", message, { details: { scope, key, depth: MAX_DEPTH, chain } });
}

/** Returns a watcher id. It is stable across restarts, and short, because it is stored with each delivery. */
function watcherId(key: string, functionId: string): string {
  return `${functionId}#${createHash("sha256").update(key).digest("hex").slice(0, 24)}`;
}

/** Parses a binding's key. Returns undefined if this release does not support the binding. */
function readKey(key: string): { readonly functionId: string; readonly settings: StateTriggerSettings } | undefined {
  try {
    const [type, functionId, config] = JSON.parse(key) as [unknown, unknown, unknown];
    if (typeof type !== "string" || typeof functionId !== "string" || !Object.hasOwn(STATE_TRIGGER_TYPES, type))
      return undefined;
    const settings = stateTriggerSettings(STATE_TRIGGER_TYPES[type] ?? []).safeParse(config ?? {});
    return settings.success ? { functionId, settings: settings.data } : undefined;
  } catch {
    return undefined;
  }
}

function nameOf(functionId: string, { scope, key, prefix }: StateTriggerSettings): string {
  const keys =
    key === undefined ? (prefix === "" ? "any key" : `keys from ${JSON.stringify(prefix)}`) : JSON.stringify(key);
  return `${functionId} on ${keys} in ${scope === undefined ? "any scope" : `scope ${JSON.stringify(scope)}`}`;
}
