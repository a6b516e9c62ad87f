import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { ClusterSettings } from "../config/blocks/cluster-block.ts";
import { removeDrafts } from "../files/replace-file.ts";
import { type Clock, every, systemClock } from "../kernel/clock.ts";
import type { ComponentHealth } from "../kernel/health-contract.ts";
import type { Logger } from "../kernel/logger.ts";
import type { NodeOptions, Nodes } from "../kernel/nodes/nodes.ts";
import type { OpenStore, ProcedureTable, Store, StoreOptions } from "../kernel/store-contract.ts";
import { openStore } from "../store/open-store.ts";
import { openReplicatedStore } from "../store/replicated/open-replicated-store.ts";
import type { ReplicatedStore } from "../store/replicated/replicated-store.ts";
import { SnapshotTaker } from "../store/replicated/snapshot-taker.ts";
import { clusterHealth, DOWN_MS, twinProblem } from "./cluster-health.ts";
import { Expulsion, storeRunOf } from "./expel.ts";
import { checkServer, durabilityOf, type LogDurability } from "./nats/check-server.ts";
import { connectNats, type NatsClient } from "./nats/connect.ts";
import { DurabilityWatch } from "./nats/durability-watch.ts";
import { natsLink } from "./nats/nats-link.ts";
import { NatsLog } from "./nats/nats-log.ts";
import { NatsSeeds } from "./nats/nats-seeds.ts";
import { nodeIdOf } from "./node-id.ts";

/** How often workers are asked to leave while this engine is cut off, in milliseconds. */
const ASK_TO_LEAVE_EVERY_MS = 1_000;
/**
 * How long their calls in flight may take then, in milliseconds. Calls between workers of this engine work, and perhaps
 * all engines are cut off.
 */
const LEAVE_WITHIN_MS = 60_000;
/** How long stopping waits for copies of replicas, which cannot be interrupted, in milliseconds. */
const STOP_MS = 10_000;

export interface ClusterParts {
  readonly settings: ClusterSettings;
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Called when a store ended, e.g. because the other engines expelled this one: what uses it must open it again. */
  readonly onStoreEnded: (log: string) => void;
}

interface OpenedStore {
  /** What the store is for. */
  readonly shared: string;
  readonly log: NatsLog;
  readonly taker: SnapshotTaker;
}

/** What an engine tells the others about its place in the cluster. */
export interface ClusterReport {
  readonly node: string;
  readonly durability: LogDurability["durability"];
  /** Why it is relaxed. */
  readonly durabilityReason: string | undefined;
  readonly stores: readonly {
    readonly store: string;
    /** Position of the last entry of the log that was applied. */
    readonly position: number;
    /** Why nothing can be written or applied at present. */
    readonly problem: string | undefined;
  }[];
}

/** An engine's place in its cluster: the connection to the servers, the stores on logs, and who is expelled from them. */
export class Cluster {
  readonly #parts: ClusterParts;
  readonly #client: NatsClient;
  readonly #durability: DurabilityWatch;
  readonly #stores = new Map<ReplicatedStore<ProcedureTable>, OpenedStore>();
  /** What stores that are being opened do. */
  readonly #opening = new Map<string, string>();
  #openedStores = 0;
  /** Ends of what took snapshots of stores that are closed, by what the stores are for. */
  readonly #stopping = new Map<string, Promise<void>>();
  #nodes: Nodes | undefined;
  #stopVoting = (): void => {};
  #stopAsking = (): void => {};
  readonly nodeOptions: NodeOptions;

  private constructor(parts: ClusterParts, client: NatsClient, durability: DurabilityWatch) {
    const { settings, dataDir } = parts;
    this.#parts = parts;
    this.#client = client;
    this.#durability = durability;
    this.nodeOptions = { link: natsLink(client, settings.name), node: nodeIdOf(dataDir), name: settings.node };
  }

  /** Connects to the servers. Rejects with an Error that says what to do. */
  static async connect(parts: ClusterParts): Promise<Cluster> {
    const { settings, logger, clock = systemClock } = parts;
    const { name: cluster, node, nats } = settings;
    const client = await connectNats({ settings: nats, cluster, node, logger });
    let durability: DurabilityWatch | undefined;
    try {
      await checkServer(client.nats, cluster);
      const ask = (): ReturnType<typeof durabilityOf> => durabilityOf(client.nats, cluster);
      durability = await DurabilityWatch.start({ ask, onUp: (listener) => client.onUp(listener), clock });
      return new Cluster(parts, client, durability);
    } catch (error) {
      durability?.stop();
      await client.close();
      throw error;
    }
  }

  /** Returns what opens the stores of an engine's run: those that are shared on logs, others as files. */
  openStoreOf(run: string): OpenStore {
    return <Procedures extends ProcedureTable>(options: StoreOptions): Promise<Store<Procedures>> =>
      options.shared === undefined ? openStore(options) : this.#open(run, options.shared, options);
  }

  /** Begins to take part: peers see the engine, and it sees them. */
  start(nodes: Nodes): void {
    const { logger, clock = systemClock } = this.#parts;
    this.#nodes = nodes;
    nodes.start();
    this.#stopAsking = every(clock, ASK_TO_LEAVE_EVERY_MS, () => {
      if (this.#client.downForMs() >= DOWN_MS) nodes.drain.askAllToLeave(LEAVE_WITHIN_MS);
    });
    this.#stopVoting = new Expulsion({
      presence: nodes,
      stores: () => this.#stores.keys(),
      clock,
      log: logger,
    }).start();
  }

  /** Throws an Error if another engine of the cluster has the name of this one. */
  checkName(): void {
    const { node } = this.#parts.settings;
    const twin = [...(this.#nodes?.peers() ?? [])].find(({ name }) => name === node);
    if (twin !== undefined) throw new Error(twinProblem(node, twin));
  }

  health(): ComponentHealth {
    return clusterHealth({
      settings: this.#parts.settings,
      self: this.#nodes?.self ?? { run: "", startedAtMs: 0 },
      peers: [...(this.#nodes?.peers() ?? [])],
      downForMs: this.#client.downForMs(),
      durability: this.#durability.last,
      copies: new Map([...this.#stores.values()].map(({ shared, log }) => [shared, log.copies])),
    });
  }

  report(): ClusterReport {
    const { durability, reason } = this.#durability.last;
    return {
      node: this.#parts.settings.node,
      durability,
      durabilityReason: reason,
      stores: [
        ...[...this.#stores].map(([store, { shared }]) => ({
          store: shared,
          position: store.position(),
          problem: store.problem(),
        })),
        ...[...this.#opening].map(([store, problem]) => ({ store, position: 0, problem })),
      ],
    };
  }

  startDraining(): void {
    this.#nodes?.startDraining();
  }

  /** Leaves the other engines. The stores must be closed before. */
  async stop(): Promise<void> {
    this.#stopVoting();
    this.#stopAsking();
    this.#durability.stop();
    this.#nodes?.stop();
    const { clock = systemClock } = this.#parts;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(STOP_MS, resolve);
      void Promise.all(this.#stopping.values()).then(() => {
        cancel();
        resolve();
      });
    });
    await this.#client.close();
  }

  async #open<Procedures extends ProcedureTable>(
    engineRun: string,
    shared: string,
    { file, procedures, log: logger = this.#parts.logger, onClosed, clock, timeoutClock }: StoreOptions,
  ): Promise<Store<Procedures>> {
    const { settings } = this.#parts;
    // What copies the replica of a store that ended must not have its file open any more.
    await this.#stopping.get(shared);
    const place = {
      ...{ client: this.#client, cluster: settings.name, store: shared },
      ...{ replicas: settings.nats.replicas, logger },
    };
    const [log, seeds] = [await NatsLog.open(place), await NatsSeeds.open(place)];
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
      ...{ log, seeds, file, procedures, logger, node: this.nodeOptions.node },
      run: storeRunOf(engineRun, this.#openedStores++),
      ...(clock === undefined ? {} : { clock }),
      ...(timeoutClock === undefined ? {} : { timeoutClock }),
      onCopying: ({ position, bytes }, copied) =>
        this.#opening.set(
          shared,
          `takes the snapshot of entry ${position}: ${megabytes(copied)} of ${megabytes(bytes)} MB`,
        ),
      onEnded: () => {
        forget();
        this.#parts.onStoreEnded(shared);
      },
      onClosed: () => {
        forget();
        onClosed?.();
      },
    }).finally(() => this.#opening.delete(shared));
    // It may have been expelled as soon as it had joined.
    if (hasEnded) return store;
    known = store as unknown as ReplicatedStore<ProcedureTable>;
    const taker = new SnapshotTaker({
      ...{ store: known, log, seeds, logger, clock: this.#parts.clock ?? systemClock },
      ...{ draft, after: settings.snapshotAfter },
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
