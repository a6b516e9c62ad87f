import { MAX_WAITING_DELIVERIES, type Outbox, type Watcher } from "../../../items/outbox.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { StateTriggerSettings } from "./settings.ts";
import type { WatcherIndex } from "./watcher-index.ts";

/** How long deliveries wait for a binding that nobody has asked for since the start, or since it lapsed. */
export const KEEP_ORPHANS_MS = 10 * 60_000;
/** So many that wait for a return together; the oldest go first. */
const MAX_ORPHANS = 10_000;
/**
 * What may be added for one of them while it is away, and what may wait with what waited before: whoever writes must not be refused for somebody who may
 * never come.
 */
const MAX_ADDED = 50_000;

interface Orphan {
  /** What it is called in logs. */
  readonly name: string;
  /** Set while writes are still kept for it. */
  readonly watching: { readonly filter: StateTriggerSettings; readonly watcher: Watcher } | undefined;
  readonly forgotten: () => void;
  readonly cancel: () => void;
  added: number;
  /** Deliveries that there were when it was added. */
  readonly waiting: number;
}

export interface OrphanOptions {
  /** What is written meanwhile is kept for it too. */
  readonly filter?: StateTriggerSettings;
  /** Called when it is given up. */
  readonly forgotten?: () => void;
  /** Deliveries that wait for it already. Default 0; counts only with a filter. */
  readonly waiting?: number | undefined;
}

/** Watchers whose binding is not there: it was before the last start, or nobody came back for it. Their deliveries wait for a while. */
export class Orphans {
  readonly #index: WatcherIndex;
  readonly #outbox: Outbox;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #orphans = new Map<string, Orphan>();

  constructor(parts: { readonly index: WatcherIndex; readonly outbox: Outbox; readonly clock: Clock; readonly log: Logger }) {
    this.#index = parts.index;
    this.#outbox = parts.outbox;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  has(id: string): boolean {
    return this.#orphans.has(id);
  }

  add(id: string, name: string, { filter, forgotten = () => {}, waiting = 0 }: OrphanOptions = {}): void {
    this.adopt(id);
    const watching = filter === undefined ? undefined : { filter, watcher: { id, kinds: filter.kinds } };
    if (watching !== undefined) this.#index.add(watching.filter, watching.watcher);
    const cancel = this.#clock.after(KEEP_ORPHANS_MS, () => this.#giveUp(id, "nobody asked for it again within 10 minutes"));
    this.#orphans.set(id, { name, watching, forgotten, cancel, added: 0, waiting });
    const [oldest] = this.#orphans.keys();
    if (this.#orphans.size > MAX_ORPHANS && oldest !== undefined) this.#giveUp(oldest, `${MAX_ORPHANS} others wait too`);
  }

  /** A delivery was stored for it. */
  addedTo(id: string): void {
    const orphan = this.#orphans.get(id);
    if (orphan === undefined) return;
    orphan.added += 1;
    const isOver = orphan.added >= MAX_ADDED || orphan.waiting + orphan.added >= MAX_WAITING_DELIVERIES;
    if (isOver) this.#giveUp(id, `${orphan.added} changes came while nobody asked for it, and ${orphan.waiting} waited before`);
  }

  /** Its binding is there again, or it is forgotten otherwise. */
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

  #giveUp(id: string, reason: string): void {
    const orphan = this.#orphans.get(id);
    if (orphan === undefined) return;
    this.adopt(id);
    orphan.forgotten();
    this.#outbox.forget(id).then(
      (deliveries) => {
        if (deliveries > 0) this.#log.warn("deliveries of a state trigger were forgotten", { trigger: orphan.name, deliveries, reason });
      },
      (error: unknown) => this.#log.warn("deliveries of a state trigger cannot be forgotten at present", { trigger: orphan.name, error }),
    );
  }
}
