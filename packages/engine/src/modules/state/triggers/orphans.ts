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
  waiting: number;
  /** When it is given up, while that is still to be said. */
  unsaidUntil: number | undefined;
}

export interface OrphanOptions {
  /** What is written meanwhile is kept for it too. */
  readonly filter?: StateTriggerSettings;
  /** Called when it is given up. */
  readonly forgotten?: () => void;
  /** Deliveries that wait for it already. Default 0; counts only with a filter. */
  readonly waiting?: number | undefined;
  /** Its worker went in this run: the deliveries that wait are counted, and as soon as there is one it is said until when they are kept. */
  readonly isAway?: boolean;
}

/** Watchers whose binding is not there: it was before the last start, or nobody came back for it. Their deliveries wait for a while. */
export class Orphans {
  readonly #index: WatcherIndex;
  readonly #outbox: Outbox;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #orphans = new Map<string, Orphan>();
  /** Those whose waiting deliveries are to be counted. */
  readonly #uncounted = new Set<string>();
  #counting = false;

  constructor(parts: { readonly index: WatcherIndex; readonly outbox: Outbox; readonly clock: Clock; readonly log: Logger }) {
    this.#index = parts.index;
    this.#outbox = parts.outbox;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  has(id: string): boolean {
    return this.#orphans.has(id);
  }

  add(id: string, name: string, { filter, forgotten = () => {}, waiting = 0, isAway = false }: OrphanOptions = {}): void {
    this.adopt(id);
    const watching = filter === undefined ? undefined : { filter, watcher: { id, kinds: filter.kinds } };
    if (watching !== undefined) this.#index.add(watching.filter, watching.watcher);
    const cancel = this.#clock.after(KEEP_ORPHANS_MS, () => this.#giveUp(id, "nobody asked for it again within 10 minutes"));
    const unsaidUntil = isAway ? this.#clock.now() + KEEP_ORPHANS_MS : undefined;
    this.#orphans.set(id, { name, watching, forgotten, cancel, added: 0, waiting, unsaidUntil });
    if (isAway) this.#countSoon(id);
    const [oldest] = this.#orphans.keys();
    if (this.#orphans.size > MAX_ORPHANS && oldest !== undefined) this.#giveUp(oldest, `${MAX_ORPHANS} others wait too`);
  }

  /** A delivery was stored for it. */
  addedTo(id: string): void {
    const orphan = this.#orphans.get(id);
    if (orphan === undefined) return;
    orphan.added += 1;
    this.#sayKept(orphan);
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

  /** Bindings of one worker lapse together, and are counted together. */
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
        if (this.#orphans.size > 0) this.#log.warn("deliveries that wait for state triggers cannot be counted at present", { error });
      }
    }
  }

  #counted(id: string, found: number): void {
    const orphan = this.#orphans.get(id);
    if (orphan === undefined || found === 0) return;
    // Some of them may have been added since.
    orphan.waiting = Math.max(0, found - orphan.added);
    this.#sayKept(orphan);
  }

  #sayKept(orphan: Orphan): void {
    const { name, unsaidUntil } = orphan;
    if (unsaidUntil === undefined) return;
    orphan.unsaidUntil = undefined;
    const until = new Date(unsaidUntil).toISOString();
    this.#log.warn(`the worker of a state trigger is away; its changes are kept until ${until}, and then forgotten unless an equal trigger is asked for`, {
      trigger: name,
      until,
    });
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
