import { type Clock, every } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Undo } from "../kernel/scope.ts";

/** Interval at which the members of the stores are compared with the peers, in milliseconds. */
const CHECK_EVERY_MS = 250;
/** A member that was never seen as a peer is considered gone after this time, in milliseconds. */
const NEVER_SEEN_MS = 6_000;

/** The part of a replicated store that concerns its members. `storeRunOf` makes the ids of their runs. */
export interface StoreMembers {
  readonly run: string;
  members(): readonly string[];
  /** Votes for expelling a member. */
  expel(run: string): Promise<void>;
}

/** Knows which engines are peers. */
export interface EnginePresence {
  /** True if the engine's run is a peer now. */
  hasPeer(run: string): boolean;
  /** Calls the listener when a peer has gone. */
  onPeerGone(listener: (run: string) => void): Undo;
}

/**
 * Returns the id of a store's run. It contains the id of the engine's run, and differs each time the store is opened.
 */
export function storeRunOf(engineRun: string, count: number): string {
  return `${engineRun}/${count}`;
}

function engineRunOf(storeRun: string): string {
  return storeRun.slice(0, storeRun.indexOf("/"));
}

/**
 * Votes for expelling the members whose engines are gone from the stores. The log decides: a majority of the members
 * must vote, and each entry of the member itself deletes all votes against it. So the vote is repeated until the member
 * has left or its engine is a peer again.
 */
export class Expulsion {
  readonly #parts: {
    readonly presence: EnginePresence;
    readonly stores: () => Iterable<StoreMembers>;
    readonly clock: Clock;
    readonly log: Logger;
  };
  /** Since when engines with members in the stores are not peers, on the monotonic clock. */
  readonly #absentSince = new Map<string, number>();
  readonly #voting = new Set<string>();
  /** Engines that this engine votes against. `hasFailed` is true after a failed vote was logged. */
  readonly #logged = new Map<string, { hasFailed: boolean }>();

  constructor(parts: {
    readonly presence: EnginePresence;
    readonly stores: () => Iterable<StoreMembers>;
    readonly clock: Clock;
    readonly log: Logger;
  }) {
    this.#parts = parts;
  }

  start(): Undo {
    const { presence, clock } = this.#parts;
    const stopListening = presence.onPeerGone((run) => {
      // The peer was declared gone only after a wait. So the next check votes without a further wait, unless the engine
      // is a peer again by then.
      this.#absentSince.set(run, Number.NEGATIVE_INFINITY);
    });
    const stopChecking = every(clock, CHECK_EVERY_MS, () => this.#check());
    return () => {
      stopListening();
      stopChecking();
    };
  }

  #check(): void {
    const { presence, stores, clock } = this.#parts;
    const now = clock.monotonic();
    const absent = new Set<string>();
    for (const store of stores()) {
      for (const member of store.members()) {
        const run = engineRunOf(member);
        if (run === engineRunOf(store.run) || presence.hasPeer(run)) continue;
        absent.add(run);
        const since = this.#absentSince.get(run) ?? now;
        this.#absentSince.set(run, since);
        if (now - since >= NEVER_SEEN_MS) this.#vote(store, member);
      }
    }
    for (const run of this.#absentSince.keys()) if (!absent.has(run)) this.#absentSince.delete(run);
    for (const run of this.#logged.keys()) {
      if (absent.has(run)) continue;
      this.#logged.delete(run);
      this.#parts.log.info("no longer voting to expel an engine: it has left the stores, or is a peer again", { run });
    }
  }

  #vote(store: StoreMembers, member: string): void {
    const name = `${store.run} ${member}`;
    if (this.#voting.has(name)) return;
    this.#voting.add(name);
    store
      .expel(member)
      // A vote fails while the log is unavailable. The next check votes again.
      .catch((error: unknown) => this.#failed(engineRunOf(member), error))
      .finally(() => this.#voting.delete(name));
    const run = engineRunOf(member);
    if (this.#logged.has(run)) return;
    this.#logged.set(run, { hasFailed: false });
    this.#parts.log.info("voting to expel an engine from the stores", { run });
  }

  #failed(run: string, error: unknown): void {
    const logged = this.#logged.get(run);
    if (logged === undefined || logged.hasFailed) return;
    logged.hasFailed = true;
    this.#parts.log.warn("votes to expel an engine cannot be written; trying until it is a peer again", { run, error });
  }
}
