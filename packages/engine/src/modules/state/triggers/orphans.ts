import { MAX_WAITING_DELIVERIES, type Outbox, type Watcher } from "../../../items/outbox.ts";
import type { WatcherIndex } from "../../../items/watcher-index.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { StateTriggerSettings } from "./settings.ts";

/**
 * Time for which deliveries of a missing binding are kept after the start or after the binding lapsed, in milliseconds.
 */
export const KEEP_ORPHANS_MS = 10 * 60_000;
/** Maximum number of orphaned watchers. The oldest are discarded first. */
const MAX_ORPHANS = 10_000;
/**
 * Maximum number of deliveries that are added for an orphaned watcher, so that a watcher that never returns does not
 * block writes.
 */
const MAX_ADDED = 50_000;

interface Orphan {
  /** Name in logs. */
  readonly name: string;
  /** Set if deliveries of further writes are stored. */
  readonly watching: { readonly filter: StateTriggerSettings; readonly watcher: Watcher } | undefined;
  readonly onDiscarded: () => void;
  readonly cancel: () => void;
  added: number;
  /** Number of deliveries that were pending when the orphan was added. */
  waiting: number;
  /** Time at which the orphan is discarded; undefined after this time was logged. */
  unreportedUntil: number | undefined;
}

export interface OrphanOptions {
  /** Set if deliveries of further writes must be stored. */
  readonly filter?: StateTriggerSettings;
  /** Called when the orphan is discarded. */
  readonly onDiscarded?: () => void;
  /** Number of pending deliveries. Default 0. Without a filter, it has no effect. */
  readonly waiting?: number | undefined;
  /**
   * True if its worker disconnected in this run. If so, the time of discarding is logged at the first pending delivery.
   */
  readonly isAway?: boolean;
}

/**
 * Watchers without a binding, since the start or since the binding lapsed. Their deliveries are kept for
 * `KEEP_ORPHANS_MS`.
 */
export class Orphans {
  readonly #index: WatcherIndex<Watcher>;
  readonly #outbox: Outbox;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #orphans = new Map<string, Orphan>();
  /** Watchers whose pending deliveries must be counted. */
  readonly #uncounted = new Set<string>();
  #counting = false;

  constructor(parts: {
    readonly index: WatcherIndex<Watcher>;
    readonly outbox: Outbox;
    readonly clock: Clock;
    readonly log: Logger;
  }) {
    this.#index = parts.index;
    this.#outbox = parts.outbox;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  has(id: string): boolean {
    return this.#orphans.has(id);
  }

  add(
    id: string,
    name: string,
    { filter, onDiscarded = () => {}, waiting = 0, isAway = false }: OrphanOptions = {},
  ): void {
    this.adopt(id);
    const watching = filter === undefined ? undefined : { filter, watcher: { id, kinds: filter.kinds } };
    if (watching !== undefined) this.#index.add(watching.filter, watching.watcher);
    const cancel = this.#clock.after(KEEP_ORPHANS_MS, () =>
      this.#discard(id, "the trigger was not registered again within 10 minutes"),
    );
    const unreportedUntil = isAway ? this.#clock.now() + KEEP_ORPHANS_MS : undefined;
    this.#orphans.set(id, { name, watching, onDiscarded, cancel, added: 0, waiting, unreportedUntil });
    if (isAway) this.#countSoon(id);
    const [oldest] = this.#orphans.keys();
    if (this.#orphans.size > MAX_ORPHANS && oldest !== undefined)
      this.#discard(oldest, `the limit of ${MAX_ORPHANS} triggers without a worker is reached`);
  }

  /** Must be called after a delivery was stored for the watcher. */
  addedTo(id: string): void {
    const orphan = this.#orphans.get(id);
    if (orphan === undefined) return;
    orphan.added += 1;
    this.#reportKept(orphan);
    const isOver = orphan.added >= MAX_ADDED || orphan.waiting + orphan.added >= MAX_WAITING_DELIVERIES;
    if (isOver)
      this.#discard(
        id,
        `${orphan.added} changes were added without a worker, and ${orphan.waiting} were pending before`,
      );
  }

  /** Removes a watcher, e.g. because its binding is registered again. Its deliveries are kept. */
  adopt(id: string): void {
    const orphan = this.#orphans.get(id);
    if (orphan === undefined) return;
    this.#orphans.delete(id);
    orphan.cancel();
    if (orphan.watching !== undefined) this.#index.remove(orphan.watching.filter, orphan.watching.watcher);
  }

  close(): void {
    for (const { cancel } of this.#orphans.values()) cancel();
    this.#orphans.clear();
  }

  /** Delays counting, so that one count covers all bindings of a worker, which lapse together. */
  #countSoon(id: string): void {
    this.#uncounted.add(id);
    if (this.#counting) return;
    this.#counting = true;
    void this.#count().finally(() => {
      this.#counting = false;
    });
  }

  async #count(): Promise<void> {
    while (this.#uncounted.size > 0) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const ids = [...this.#uncounted];
      this.#uncounted.clear();
      try {
        const found = new Map((await this.#outbox.watchers()).map(({ watcher, waiting }) => [watcher, waiting]));
        for (const id of ids) this.#counted(id, found.get(id) ?? 0);
      } catch (error) {
        if (this.#orphans.size > 0) this.#log.warn("failed to count pending deliveries of state triggers", { error });
      }
    }
  }

  #counted(id: string, found: number): void {
    const orphan = this.#orphans.get(id);
    if (orphan === undefined || found === 0) return;
    // Subtract the deliveries that were added since it became an orphan, because `added` counts them.
    orphan.waiting = Math.max(0, found - orphan.added);
    this.#reportKept(orphan);
  }

  #reportKept(orphan: Orphan): void {
    const { name, unreportedUntil } = orphan;
    if (unreportedUntil === undefined) return;
    orphan.unreportedUntil = undefined;
    const until = new Date(unreportedUntil).toISOString();
    this.#log.warn(
      `the worker of a state trigger is disconnected; its changes are kept until ${until}, then discarded unless an equal trigger is registered`,
      {
        trigger: name,
        until,
      },
    );
  }

  #discard(id: string, reason: string): void {
    const orphan = this.#orphans.get(id);
    if (orphan === undefined) return;
    this.adopt(id);
    orphan.onDiscarded();
    this.#outbox.discard(id).then(
      (deliveries) => {
        if (deliveries > 0)
          this.#log.warn("discarded deliveries of a state trigger", { trigger: orphan.name, deliveries, reason });
      },
      (error: unknown) =>
        this.#log.warn("failed to discard deliveries of a state trigger", { trigger: orphan.name, error }),
    );
  }
}
