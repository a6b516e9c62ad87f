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

/** How long stopping waits for what takes snapshots, in milliseconds. */
const STOP_MS = 10_000;

/** A log, and the snapshots of its replicas. */
export interface LogWithSeeds<SharedLog extends Log> {
  readonly log: SharedLog;
  readonly seeds: Seeds;
}

export interface ClusterStoresParts<SharedLog extends Log> {
  /** `shared`: what the log is for. */
  readonly openLog: (shared: string, logger: Logger) => Promise<LogWithSeeds<SharedLog>>;
  /** Data folder or machine of this engine. */
  readonly node: string;
  /** Growth of a log, in bytes, after which a snapshot is taken. */
  readonly snapshotAfter: number;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Called when a store ended, e.g. because the other engines expelled this one: what uses it must open it again. */
  readonly onStoreEnded: (shared: string) => void;
}

/** Where a store is in its log. */
export interface StorePosition {
  readonly store: string;
  /** Position of the last entry of the log that was applied. */
  readonly position: number;
  /** Why nothing can be written or applied at present. */
  readonly problem: string | undefined;
}

interface OpenedStore<SharedLog extends Log> {
  /** What the store is for. */
  readonly shared: string;
  readonly log: SharedLog;
  readonly taker: SnapshotTaker;
}

/** The stores of an engine that are replicas of shared logs, and what takes their snapshots. */
export class ClusterStores<SharedLog extends Log> {
  readonly #parts: ClusterStoresParts<SharedLog>;
  readonly #stores = new Map<ReplicatedStore<ProcedureTable>, OpenedStore<SharedLog>>();
  /** What stores that are being opened do. */
  readonly #opening = new Map<string, string>();
  #openedStores = 0;
  /** Ends of what took snapshots of stores that are closed, by what the stores are for. */
  readonly #stopping = new Map<string, Promise<void>>();
  readonly #stopped = new AbortController();

  constructor(parts: ClusterStoresParts<SharedLog>) {
    this.#parts = parts;
  }

  opened(): Iterable<ReplicatedStore<ProcedureTable>> {
    return this.#stores.keys();
  }

  /** The logs of the stores, by what they are for. */
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

  /** Opens the store of an engine's run that is a replica of a log. */
  async open<Procedures extends ProcedureTable>(
    engineRun: string,
    shared: string,
    options: StoreOptions,
  ): Promise<Store<Procedures>> {
    // Also while what copies the replica of a store that ended is awaited: it must not have the file open any more.
    this.#opening.set(shared, "is being opened");
    try {
      await this.#stopping.get(shared);
      return await this.#open<Procedures>(engineRun, shared, options);
    } finally {
      this.#opening.delete(shared);
    }
  }

  /** Gives up what is under way. The stores must be closed before. */
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
        // An opened store whose replica is opened again states its problem itself.
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
    // It may have been expelled as soon as it had joined.
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

/** Removes what a process left that was killed while it copied the replica, or made it from a snapshot. */
function removeLeftovers(file: string, draft: string): void {
  removeDrafts(dirname(file), (name) => name === basename(draft));
  for (const path of [draft, `${file}.seed`]) rmSync(path, { force: true });
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
