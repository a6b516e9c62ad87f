import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { silentLogger } from "../../../kernel/logger.ts";
import type { OpenStore, ProcedureTable, Store, StoreOptions } from "../../../kernel/store-contract.ts";
import { cron } from "../../../modules/cron/index.ts";
import { queue } from "../../../modules/queue/index.ts";
import { state } from "../../../modules/state/index.ts";
import { stream } from "../../../modules/stream/index.ts";
import type { ProceduresModule } from "../../../store/procedures.ts";
import type { ReplicaHost } from "../../../store/replicated/replica-messages.ts";
import { ReplicatedStore } from "../../../store/replicated/replicated-store.ts";
import { seedReplica } from "../../../store/replicated/seed-replica.ts";
import { type InMemoryEngine, type InMemoryWorker, inMemoryEngine } from "../../../testing/in-memory-engine.ts";
import { Expulsion, storeRunOf } from "../../expel.ts";
import type { LogConnection } from "../memory-log.ts";
import { NodeClock } from "./node-clock.ts";
import type { SimulatedProcess } from "./scheduler.ts";
import type { SharedParts } from "./shared-parts.ts";
import { connectToLog, type LogFaultRates } from "./simulated-log.ts";
import { openSimulatedReplica, ReplicaDisk } from "./simulated-replica.ts";

/** Pause before an engine that ended restarts, in milliseconds. */
const RESTART_MS = 1_000;
/** Entries between two fingerprints. */
const FINGERPRINT_EVERY = 40;

interface OpenedStore {
  readonly store: ReplicatedStore<ProcedureTable>;
  readonly connection: LogConnection;
}

/** An engine that runs: from its start to its end. */
export interface Life {
  readonly process: SimulatedProcess;
  readonly clock: NodeClock;
  readonly stores: Map<string, OpenedStore>;
  readonly onEnd: (() => void)[];
  engine: InMemoryEngine | undefined;
  /** Run of the engine, once it listens on the network. */
  run: string | undefined;
}

export type RunningEngine = Life & { readonly engine: InMemoryEngine };

export interface NodeHooks {
  /** Called when an engine has started, with a worker of its own. */
  readonly onStarted: (node: SimulatedNode, life: Life, worker: InMemoryWorker) => void | Promise<void>;
}

/** A machine with an engine, which may end and start again with the same disk or an empty one. */
export class SimulatedNode {
  readonly name: string;
  readonly rates: LogFaultRates = { dropped: 0, repeated: 0 };
  /** Probability that the thread of a replica ends after it applied entries. */
  crashRate = 0;
  skewMs = 0;
  /** True if the machine is off for good: its engine is not started again, and the others must do without it. */
  isOff = false;
  readonly linkRates: LogFaultRates = { dropped: 0, repeated: 0 };
  /** False while the nodes do not hear each other, although this one may reach the log. */
  isHeard = true;
  readonly #parts: SharedParts;
  readonly #hooks: NodeHooks;
  readonly #disks = new Map<string, ReplicaDisk>();
  #isDiskFull = false;
  #isConnected = true;
  #lives = 0;
  #life: Life | undefined;

  constructor(name: string, parts: SharedParts, hooks: NodeHooks) {
    this.name = name;
    this.#parts = parts;
    this.#hooks = hooks;
  }

  /** The running engine; undefined while it starts or is ended. */
  get running(): RunningEngine | undefined {
    const life = this.#life;
    return life?.engine === undefined ? undefined : (life as RunningEngine);
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Number of engines that were started here. */
  get lives(): number {
    return this.#lives;
  }

  start(): void {
    this.#lives += 1;
    const process: SimulatedProcess = { name: `${this.name}${this.#lives}`, state: "running" };
    const clock = new NodeClock(this.#parts.scheduler, process, this.skewMs);
    const life: Life = { process, clock, stores: new Map(), onEnd: [], engine: undefined, run: undefined };
    this.#life = life;
    this.#boot(life).catch((error: Error) => {
      if (this.#life !== life) return;
      this.#parts.scheduler.note(`${process.name} failed to start: ${error.message}`);
      this.kill();
      this.#parts.scheduler.after(RESTART_MS, undefined, `${this.name} starts`, () => this.startIfEnded());
    });
  }

  startIfEnded(): void {
    if (this.#life === undefined && !this.isOff) this.start();
  }

  /** Ends the engine at once. */
  kill(): void {
    const life = this.#life;
    if (life === undefined) return;
    this.#life = undefined;
    life.process.state = "dead";
    this.#parts.network.kill(life);
    for (const { store, connection } of life.stores.values()) {
      connection.setUp(false);
      void store.abort();
    }
    for (const end of life.onEnd) end();
  }

  pause(): void {
    if (this.#life === undefined) return;
    this.#life.process.state = "paused";
    this.#parts.network.pause(this.#life);
  }

  resume(): void {
    if (this.#life?.process.state !== "paused") return;
    this.#parts.scheduler.resume(this.#life.process);
    this.#parts.network.resume(this.#life);
  }

  setConnected(isConnected: boolean): void {
    this.#isConnected = isConnected;
    for (const { connection } of this.#life?.stores.values() ?? []) connection.setUp(isConnected);
  }

  setDiskFull(isFull: boolean): void {
    this.#isDiskFull = isFull;
    for (const disk of this.#disks.values()) disk.setFull(isFull);
  }

  /** Loses all replicas. Only while the engine is ended. */
  loseDisk(): void {
    for (const disk of this.#disks.values()) disk.lose();
  }

  setSkew(ms: number): void {
    this.skewMs = ms;
    if (this.#life !== undefined) this.#life.clock.skewMs = ms;
  }

  async #boot(life: Life): Promise<void> {
    const { folder } = this.#parts;
    const dataDir = join(folder, life.process.name);
    mkdirSync(dataDir, { recursive: true });
    const engine = await inMemoryEngine({
      modules: [state, stream, queue, cron],
      config: this.#parts.config,
      clock: life.clock,
      dataDir,
      openStoreOf: (run) => this.#openStore(life, run),
      cluster: { link: this.#parts.network.connect(this, life), node: this.name, name: this.name },
    });
    if (life.process.state === "dead") return;
    this.#startExpulsion(life, engine);
    const worker = await engine.connectWorker({ name: `worker of ${life.process.name}` });
    life.engine = engine;
    await this.#hooks.onStarted(this, life, worker);
  }

  /** Votes against engines that are gone, as the product does. */
  #startExpulsion(life: Life, { kernel }: InMemoryEngine): void {
    if (kernel.nodes === undefined) throw new Error("the engine is in no cluster");
    const stores = (): readonly ReplicatedStore<ProcedureTable>[] =>
      [...life.stores.values()].map(({ store }) => store);
    new Expulsion({ presence: kernel.nodes, stores, clock: life.clock, log: silentLogger }).start();
  }

  #openStore(life: Life, engineRun: string): OpenStore {
    return async <Procedures extends ProcedureTable>(options: StoreOptions) => {
      if (options.file === undefined) throw new TypeError("the simulation has no stores in memory");
      const store = await this.#open(life, { name: basename(options.file), engineRun }, options);
      return store as unknown as Store<Procedures>;
    };
  }

  async #open(
    life: Life,
    { name, engineRun }: { readonly name: string; readonly engineRun: string },
    { procedures, onClosed }: StoreOptions,
  ) {
    const { scheduler, random } = this.#parts;
    const { log, seeds } = this.#parts.logOf(name);
    const { process, clock } = life;
    const disk = this.diskOf(name);
    const module = (await import(procedures.href)) as ProceduresModule;
    const connection = connectToLog(log, { scheduler, process, rates: this.rates });
    connection.setUp(this.#isConnected);
    const run = storeRunOf(engineRun, life.stores.size);
    if (onClosed !== undefined) life.onEnd.push(onClosed);
    const open = async (): Promise<ReplicaHost> => {
      const { identity, first } = await connection.state();
      const onApplied: Parameters<typeof openSimulatedReplica>[0]["onApplied"] = (entry, writes) =>
        this.#parts.onApplied({ store: name, node: this.name, writes }, entry);
      const place = {
        onApplied,
        disk,
        module,
        identity,
        run,
        scheduler,
        process,
        crashes: () => random.chance(this.crashRate),
      };
      if (disk.database !== undefined) {
        const host = openSimulatedReplica({ ...place, seed: undefined });
        if (host.opened.state.position + 1 >= first) return host;
        disk.lose();
      }
      const draft = join(this.#parts.folder, `${run.replace("/", "-")}.seed`);
      const isSeeded = await seedReplica({
        ...{ log: connection, seeds, file: draft, node: this.name, logger: silentLogger },
      });
      return openSimulatedReplica({ ...place, seed: isSeeded ? draft : undefined });
    };
    const store = new ReplicatedStore<ProcedureTable>({
      ...{ log: connection, replica: await open(), reopen: open, run, node: this.name },
      ...{ logger: silentLogger, clock, timeoutClock: clock, fingerprintEvery: FINGERPRINT_EVERY },
      onEnded: () => this.#restart(life),
      ...(onClosed === undefined ? {} : { onClosed }),
    });
    life.stores.set(name, { store, connection });
    await store.open();
    return store;
  }

  /** An engine whose store ended, e.g. because it was expelled, ends, and joins again. */
  #restart(life: Life): void {
    const { scheduler } = this.#parts;
    scheduler.after(0, life.process, "store ended", () => {
      this.kill();
      scheduler.after(RESTART_MS, undefined, `${this.name} starts`, () => this.startIfEnded());
    });
  }

  /** What the machine keeps of a store. */
  diskOf(name: string): ReplicaDisk {
    let disk = this.#disks.get(name);
    if (disk === undefined) {
      disk = new ReplicaDisk();
      disk.setFull(this.#isDiskFull);
      this.#disks.set(name, disk);
    }
    return disk;
  }
}
