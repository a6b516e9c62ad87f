import { type ClusterEngineOptions, InMemoryCluster } from "../../kernel/nodes/testing/in-memory-cluster.ts";
import type { OpenStore, ProcedureTable } from "../../kernel/store-contract.ts";
import { openReplicatedStore } from "../../store/replicated/open-replicated-store.ts";
import type { ReplicatedStore } from "../../store/replicated/replicated-store.ts";
import { recordLog } from "../../store/replicated/testing/recorded-logs.ts";
import type { InMemoryEngine, InMemoryWorker } from "../../testing/in-memory-engine.ts";
import { Expulsion, storeRunOf } from "../expel.ts";
import { type LogConnection, type LogFaults, MemoryLog } from "./memory-log.ts";

interface Node {
  readonly engine: InMemoryEngine;
  readonly connections: readonly LogConnection[];
  readonly stores: readonly ReplicatedStore<ProcedureTable>[];
}

/** Engines in memory whose stores are replicas of shared logs. */
export class ClusterEngines {
  readonly cluster = new InMemoryCluster();
  /** One log for each kind of store, by its procedures. */
  readonly #logs = new Map<string, MemoryLog>();
  readonly #nodes: Node[] = [];
  readonly #stopVoting: (() => void)[] = [];

  async start(
    name: string,
    { logFaults, ...options }: ClusterEngineOptions & { readonly logFaults?: LogFaults },
  ): Promise<InMemoryEngine> {
    const connections: LogConnection[] = [];
    const stores: ReplicatedStore<ProcedureTable>[] = [];
    const openStoreOf =
      (run: string): OpenStore =>
      async <Procedures extends ProcedureTable>({ procedures, clock, timeoutClock }: Parameters<OpenStore>[0]) => {
        const log = this.#logs.get(procedures.href) ?? new MemoryLog();
        this.#logs.set(procedures.href, log);
        const connection = log.connect(logFaults);
        connections.push(connection);
        const store = await openReplicatedStore<Procedures>({
          ...{ log: connection, node: name, run: storeRunOf(run, stores.length), file: undefined, procedures },
          ...(clock === undefined ? {} : { clock }),
          ...(timeoutClock === undefined ? {} : { timeoutClock }),
        });
        stores.push(store as unknown as ReplicatedStore<ProcedureTable>);
        return store;
      };
    const engine = await this.cluster.start(name, { ...options, openStoreOf });
    const { nodes: presence, clock, log } = engine.kernel;
    if (presence === undefined) throw new Error("the engine is not in a cluster");
    this.#stopVoting.push(new Expulsion({ presence, stores: () => stores, clock, log }).start());
    this.#nodes.push({ engine, connections, stores });
    return engine;
  }

  /** The engine neither sends nor receives any more, and its clock stands still. */
  kill(engine: InMemoryEngine): void {
    this.cluster.kill(engine);
    const node = this.#nodes.find((each) => each.engine === engine);
    for (const connection of node?.connections ?? []) connection.setUp(false);
  }

  async stop(): Promise<void> {
    for (const stop of this.#stopVoting) stop();
    for (const { connections } of this.#nodes) for (const connection of connections) connection.setUp(true);
    await this.cluster.stop();
    for (const [procedures, log] of this.#logs) await recordLog(log, new URL(procedures));
  }
}

/** Registers a trigger as a worker does. */
export function registerTrigger(worker: InMemoryWorker, type: string, functionId: string, config: unknown): void {
  worker.say({ type: "registertrigger", id: crypto.randomUUID(), trigger_type: type, function_id: functionId, config });
}
