import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { removeDrafts } from "../files/replace-file.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type { ProcedureTable, Store, StoreOptions } from "../kernel/store-contract.ts";
import type { Log } from "../store/log.ts";
import { openReplicatedStore } from "../store/replicated/open-replicated-store.ts";
import type { ReplicatedStore } from "../store/replicated/replicated-store.ts";
import type { Seeds } from "../store/replicated/seeds.ts";
import { SnapshotTaker } from "../store/replicated/snapshot-taker.ts";
import { storeRunOf } from "./expel.ts";

/** Maximum time that stopping waits for the snapshot takers, in milliseconds. */
const STOP_MS = 10_000;

/** A log, and the snapshots of its replicas. */
export interface LogWithSeeds<SharedLog extends Log> {
  readonly log: SharedLog;
  readonly seeds: Seeds;
}

export interface ClusterStoresParts<SharedLog extends Log> {
  /** Opens the log of a store. `shared` is the name of the store. */
  readonly openLog: (shared: string, logger: Logger) => Promise<LogWithSeeds<SharedLog>>;
  /** Id of this engine's data folder or machine. */
  readonly node: string;
  /** Growth of a log, in bytes, after which a snapshot is taken. */
  readonly snapshotAfter: number;
  readonly logger: Logger;
  readonly clock: Clock;
  /**
   * Called when a store has ended, e.g. because the other engines expelled this one. The users of the store must open
   * it again.
   */
  readonly onStoreEnded: (shared: string) => void;
}

/** How far a store has applied its log. */
export interface StorePosition {
  readonly store: string;
  /** Position of the last entry of the log that was applied. */
  readonly position: number;
  /** Reason why nothing can be written or applied at present. */
  readonly problem: string | undefined;
}

interface OpenedStore<SharedLog extends Log> {
  /** Name of the store. */
  readonly shared: string;
  readonly log: SharedLog;
  readonly taker: SnapshotTaker;
}

/** The stores of an engine that are replicas of shared logs, with their snapshot takers. */
export class ClusterStores<SharedLog extends Log> {
  readonly #parts: ClusterStoresParts<SharedLog>;
  readonly #stores = new Map<ReplicatedStore<ProcedureTable>, OpenedStore<SharedLog>>();
  /** Progress of stores that are being opened, by the name of the store. */
  readonly #opening = new Map<string, string>();
  #openedStores = 0;
  /** Stops of the snapshot takers of closed stores, by the name of the store. */
  readonly #stopping = new Map<string, Promise<void>>();
  readonly #stopped = new AbortController();

  constructor(parts: ClusterStoresParts<SharedLog>) {
    this.#parts = parts;
  }

  opened(): Iterable<ReplicatedStore<ProcedureTable>> {
    return this.#stores.keys();
  }

  /** The logs of the stores, by the name of the store. */
  logs(): ReadonlyMap<string, SharedLog> {
    return new Map([...this.#stores.values()].map(({ shared, log }) => [shared, log]));
  }

  positions(): readonly StorePosition[] {
    return [
      ...[...this.#stores].map(([store, { shared }]) => ({
        store: shared,
        position: store.position(),
        problem: store.problem(),
      })),
      ...[...this.#opening].map(([store, problem]) => ({ store, position: 0, problem })),
    ];
  }

  /** True if the log of a store does not answer. */
  get isStalled(): boolean {
    return [...this.#stores.keys()].some((store) => store.isStalled);
  }

  /** Opens a store of an engine's run. The store is a replica of a log. */
  async open<Procedures extends ProcedureTable>(
    engineRun: string,
    shared: string,
    options: StoreOptions,
  ): Promise<Store<Procedures>> {
    // Set before the snapshot taker of the previous store has stopped, because `positions` shall show this wait too.
    // The wait is needed because that snapshot taker may still have the file open.
    this.#opening.set(shared, "is being opened");
    try {
      await this.#stopping.get(shared);
      return await this.#open<Procedures>(engineRun, shared, options);
    } finally {
      this.#opening.delete(shared);
    }
  }

  /** Cancels the openings and snapshots in progress. The stores must be closed before. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await new Promise<void>((resolve) => {
      const cancel = this.#parts.clock.after(STOP_MS, resolve);
      void Promise.all(this.#stopping.values()).then(() => {
        cancel();
        resolve();
      });
    });
  }

  async #open<Procedures extends ProcedureTable>(
    engineRun: string,
    shared: string,
    { file, procedures, log: logger = this.#parts.logger, onClosed, clock, timeoutClock }: StoreOptions,
  ): Promise<Store<Procedures>> {
    const { node, snapshotAfter, openLog, onStoreEnded } = this.#parts;
    const { log, seeds } = await openLog(shared, logger);
    const draft = `${file ?? join(tmpdir(), `svc-${randomUUID()}`)}.snapshot`;
    if (file !== undefined) {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      removeLeftovers(file, draft);
    }
    let known: ReplicatedStore<ProcedureTable> | undefined;
    let hasEnded = false;
    const forget = (): void => {
      hasEnded = true;
      const opened = known && this.#stores.get(known);
      if (known === undefined || opened === undefined) return;
      this.#stores.delete(known);
      this.#stopping.set(shared, opened.taker.stop());
    };
    this.#opening.set(shared, "reads its log");
    const store = await openReplicatedStore<Procedures>({
      ...{ log, seeds, file, procedures, logger, node, signal: this.#stopped.signal },
      run: storeRunOf(engineRun, this.#openedStores++),
      ...(clock === undefined ? {} : { clock }),
      ...(timeoutClock === undefined ? {} : { timeoutClock }),
      onCopying: ({ position, bytes }, copied) => {
        // Reported only during the first opening. When an opened store opens its replica again, it reports its problem
        // itself.
        if (known !== undefined) return;
        const problem = `takes the snapshot of entry ${position}: ${megabytes(copied)} of ${megabytes(bytes)} MB`;
        this.#opening.set(shared, problem);
      },
      onEnded: () => {
        forget();
        onStoreEnded(shared);
      },
      onClosing: forget,
      ...(onClosed === undefined ? {} : { onClosed }),
    });
    // The store may have been expelled as soon as it had joined.
    if (hasEnded) return store;
    known = store as unknown as ReplicatedStore<ProcedureTable>;
    const taker = new SnapshotTaker({
      ...{ store: known, log, seeds, logger, clock: this.#parts.clock },
      ...{ draft, after: snapshotAfter },
    });
    this.#stores.set(known, { shared, log, taker });
    taker.start();
    return store;
  }
}

/**
 * Removes the drafts of a process that was killed while it copied the replica, or while it made the replica from a
 * snapshot.
 */
function removeLeftovers(file: string, draft: string): void {
  removeDrafts(dirname(file), (name) => name === basename(draft));
  for (const path of [draft, `${file}.seed`]) rmSync(path, { force: true });
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
