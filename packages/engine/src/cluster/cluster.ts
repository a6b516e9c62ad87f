import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { ClusterSettings } from "../config/blocks/cluster-block.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import type { ComponentHealth } from "../kernel/health-contract.ts";
import type { Logger } from "../kernel/logger.ts";
import type { NodeOptions, Nodes } from "../kernel/nodes/nodes.ts";
import type { OpenStore, ProcedureTable, Store, StoreOptions } from "../kernel/store-contract.ts";
import { openStore } from "../store/open-store.ts";
import { openReplicatedStore } from "../store/replicated/open-replicated-store.ts";
import type { ReplicatedStore } from "../store/replicated/replicated-store.ts";
import { Expulsion, storeRunOf } from "./expel.ts";
import { checkServer, durabilityOf, type LogDurability } from "./nats/check-server.ts";
import { connectNats, type NatsClient } from "./nats/connect.ts";
import { natsLink } from "./nats/nats-link.ts";
import { NatsLog } from "./nats/nats-log.ts";
import { nodeIdOf } from "./node-id.ts";

/** Without a server for this long the engine is not ready, in milliseconds. */
const DOWN_MS = 5_000;

export interface ClusterParts {
  readonly settings: ClusterSettings;
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Called when the other engines have expelled this one from a log: what uses it must open it again. */
  readonly onExpelled: (log: string) => void;
}

/** An engine's place in its cluster: the connection to the servers, the stores on logs, and who is expelled from them. */
export class Cluster {
  readonly #parts: ClusterParts;
  readonly #client: NatsClient;
  readonly #durability: LogDurability;
  readonly #stores = new Set<ReplicatedStore<ProcedureTable>>();
  #openedStores = 0;
  #nodes: Nodes | undefined;
  #stopVoting = (): void => {};
  readonly nodeOptions: NodeOptions;

  private constructor(parts: ClusterParts, client: NatsClient, durability: LogDurability) {
    const { settings, dataDir } = parts;
    this.#parts = parts;
    this.#client = client;
    this.#durability = durability;
    this.nodeOptions = { link: natsLink(client, settings.name), node: nodeIdOf(dataDir), name: settings.node };
  }

  /** Connects to the servers. Rejects with an Error that says what to do. */
  static async connect(parts: ClusterParts): Promise<Cluster> {
    const { settings, logger } = parts;
    const { name: cluster, node, nats } = settings;
    const client = await connectNats({ settings: nats, cluster, node, logger });
    try {
      await checkServer(client.nats, cluster);
      return new Cluster(parts, client, await durabilityOf(client.nats, cluster));
    } catch (error) {
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
    this.#stopVoting = new Expulsion({ presence: nodes, stores: () => this.#stores, clock, log: logger }).start();
  }

  /** Throws an Error if another engine of the cluster has the name of this one. */
  checkName(): void {
    const problem = this.#nameProblem();
    if (problem !== undefined) throw new Error(problem);
  }

  health(): ComponentHealth {
    const { settings } = this.#parts;
    const downSince = this.#client.downSince();
    const servers = settings.nats.servers.join(", ");
    if (downSince !== undefined) {
      const details = `no NATS server can be reached (${servers}): nothing that the engines share can be written`;
      return { status: performance.now() - downSince < DOWN_MS ? "degraded" : "unhealthy", details };
    }
    const nameProblem = this.#nameProblem();
    if (nameProblem !== undefined) return { status: "unhealthy", details: nameProblem };
    const { durability, reason } = this.#durability;
    if (durability === "relaxed") return { status: "degraded", details: `durability: relaxed; ${reason}` };
    const peers = [...(this.#nodes?.peers() ?? [])].map(({ name }) => name).sort();
    const others = peers.length === 0 ? "no other engine is there" : `with ${peers.join(", ")}`;
    return {
      status: "healthy",
      details: `${settings.node} of cluster ${settings.name}, ${others}; durability: durable`,
    };
  }

  startDraining(): void {
    this.#nodes?.startDraining();
  }

  /** Leaves the other engines. The stores must be closed before. */
  async stop(): Promise<void> {
    this.#stopVoting();
    this.#nodes?.stop();
    await this.#client.close();
  }

  async #open<Procedures extends ProcedureTable>(
    engineRun: string,
    shared: string,
    { file, procedures, log: logger = this.#parts.logger, onClosed, clock, timeoutClock }: StoreOptions,
  ): Promise<Store<Procedures>> {
    const { settings } = this.#parts;
    const log = await NatsLog.open({
      ...{ client: this.#client, cluster: settings.name, store: shared },
      ...{ replicas: settings.nats.replicas, logger },
    });
    if (file !== undefined) mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const store = await openReplicatedStore<Procedures>({
      ...{ log, file, procedures, logger, node: this.nodeOptions.node },
      run: storeRunOf(engineRun, this.#openedStores++),
      ...(clock === undefined ? {} : { clock }),
      ...(timeoutClock === undefined ? {} : { timeoutClock }),
      onExpelled: () => {
        this.#stores.delete(known);
        this.#parts.onExpelled(shared);
      },
      onClosed: () => {
        this.#stores.delete(known);
        onClosed?.();
      },
    });
    const known = store as unknown as ReplicatedStore<ProcedureTable>;
    this.#stores.add(known);
    return store;
  }

  #nameProblem(): string | undefined {
    const { node } = this.#parts.settings;
    const twin = [...(this.#nodes?.peers() ?? [])].find(({ name }) => name === node);
    if (twin === undefined) return undefined;
    return `another engine of the cluster is called ${node}, too (run ${twin.run}): give each a name of its own with engine.cluster.node`;
  }
}
