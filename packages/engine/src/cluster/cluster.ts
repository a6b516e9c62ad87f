import type { ClusterSettings } from "../config/blocks/cluster-block.ts";
import { type Clock, every, systemClock } from "../kernel/clock.ts";
import type { ComponentHealth } from "../kernel/health-contract.ts";
import type { Logger } from "../kernel/logger.ts";
import type { NodeOptions, Nodes } from "../kernel/nodes/nodes.ts";
import type { OpenStore, ProcedureTable, Store, StoreOptions } from "../kernel/store-contract.ts";
import { openStore } from "../store/open-store.ts";
import { clusterHealth, DOWN_MS, twinProblem } from "./cluster-health.ts";
import { ClusterStores, type StorePosition } from "./cluster-stores.ts";
import { Expulsion } from "./expel.ts";
import { checkServer, durabilityOf, type LogDurability } from "./nats/check-server.ts";
import { connectNats, type NatsClient } from "./nats/connect.ts";
import { DurabilityWatch } from "./nats/durability-watch.ts";
import { natsLink } from "./nats/nats-link.ts";
import { NatsLog } from "./nats/nats-log.ts";
import { NatsSeeds } from "./nats/nats-seeds.ts";
import { nodeIdOf } from "./node-id.ts";

/** Interval at which workers are asked to leave while nothing can be written here, in milliseconds. */
const ASK_TO_LEAVE_EVERY_MS = 1_000;
/**
 * Time within which the workers shall finish their calls in flight then, in milliseconds. It is long, because calls
 * between workers of this engine still work, and leaving does not help if no engine can write.
 */
const LEAVE_WITHIN_MS = 60_000;

export interface ClusterParts {
  readonly settings: ClusterSettings;
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  /**
   * Called when a store has ended, e.g. because the other engines expelled this one. The users of the store must open
   * it again.
   */
  readonly onStoreEnded: (log: string) => void;
}

/** What an engine reports to clients about its place in the cluster. */
export interface ClusterReport {
  readonly node: string;
  readonly durability: LogDurability["durability"];
  /** Reason why the durability is relaxed; undefined if it is not. */
  readonly durabilityReason: string | undefined;
  readonly stores: readonly StorePosition[];
}

/**
 * An engine's place in its cluster: the connection to the servers, the replicated stores, and the votes for expelling
 * engines that are gone.
 */
export class Cluster {
  readonly #parts: ClusterParts;
  readonly #client: NatsClient;
  readonly #durability: DurabilityWatch;
  readonly #stores: ClusterStores<NatsLog>;
  #nodes: Nodes | undefined;
  #stopVoting = (): void => {};
  #stopAsking = (): void => {};
  readonly nodeOptions: NodeOptions;

  private constructor(parts: ClusterParts, client: NatsClient, durability: DurabilityWatch) {
    const { settings, dataDir } = parts;
    this.#parts = parts;
    this.#client = client;
    this.#durability = durability;
    const { logger, clock = systemClock, onStoreEnded } = parts;
    this.nodeOptions = { link: natsLink(client, settings.name), node: nodeIdOf(dataDir), name: settings.node };
    this.#stores = new ClusterStores({
      ...{ logger, clock, onStoreEnded, node: this.nodeOptions.node, snapshotAfter: settings.snapshotAfter },
      openLog: async (store, logger) => {
        const place = { client, cluster: settings.name, store, replicas: settings.nats.replicas, logger };
        return { log: await NatsLog.open(place), seeds: await NatsSeeds.open(place) };
      },
    });
  }

  /** Connects to the servers. Rejects with an Error whose message says what to do. */
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

  /**
   * Returns the function that opens the stores of an engine's run: shared stores as replicas of logs, other stores as
   * files.
   */
  openStoreOf(run: string): OpenStore {
    return <Procedures extends ProcedureTable>(options: StoreOptions): Promise<Store<Procedures>> =>
      options.shared === undefined ? openStore(options) : this.#stores.open(run, options.shared, options);
  }

  /** Starts the exchange of messages with the other engines. Each engine then has the others as peers. */
  start(nodes: Nodes): void {
    const { logger, clock = systemClock } = this.#parts;
    this.#nodes = nodes;
    nodes.start();
    this.#stopAsking = every(clock, ASK_TO_LEAVE_EVERY_MS, () => {
      // An engine may be connected to a server that is cut off from the majority, e.g. together with it.
      const isCutOff = this.#client.downForMs() >= DOWN_MS || this.#stores.isStalled;
      if (isCutOff) nodes.drain.askAllToLeave(LEAVE_WITHIN_MS);
    });
    this.#stopVoting = new Expulsion({
      presence: nodes,
      stores: () => this.#stores.opened(),
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
      copies: new Map([...this.#stores.logs()].map(([shared, log]) => [shared, log.copies])),
    });
  }

  report(): ClusterReport {
    const { durability, reason } = this.#durability.last;
    return {
      node: this.#parts.settings.node,
      durability,
      durabilityReason: reason,
      stores: this.#stores.positions(),
    };
  }

  startDraining(): void {
    this.#nodes?.startDraining();
  }

  /** Leaves the cluster. The stores must be closed before. */
  async stop(): Promise<void> {
    this.#stopVoting();
    this.#stopAsking();
    this.#durability.stop();
    this.#nodes?.stop();
    await this.#stores.stop();
    await this.#client.close();
  }
}
