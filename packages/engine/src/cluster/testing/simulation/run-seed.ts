import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { MemorySeeds } from "../../../store/replicated/testing/memory-seeds.ts";
import { MemoryLog } from "../memory-log.ts";
import { callsInFlight, checkCalls, invisibleNodes } from "./checks/calls.ts";
import { CronStarts } from "./checks/cron-starts.ts";
import { DeliveryModel } from "./checks/deliveries.ts";
import { ItemEvents } from "./checks/item-events.ts";
import { JobModel } from "./checks/jobs.ts";
import { checkLinearizable } from "./checks/linearizable.ts";
import { MemberModel } from "./checks/members.ts";
import { checkReplicas } from "./checks/replicas.ts";
import { runClient } from "./client.ts";
import { seedGlobals } from "./controlled-globals.ts";
import { Faults } from "./faults.ts";
import { EPOCH_MS } from "./node-clock.ts";
import { ObservedLog } from "./observed-log.ts";
import { Random } from "./random.ts";
import { Scheduler } from "./scheduler.ts";
import type { SharedParts } from "./shared-parts.ts";
import { SimulatedNetwork } from "./simulated-link.ts";
import { type RunningEngine, SimulatedNode } from "./simulated-node.ts";
import { Violations } from "./violations.ts";
import { CallWorkload } from "./workload/call-workload.ts";
import { CronWorkload } from "./workload/cron-workload.ts";
import { QueueWorkload, queueConfig } from "./workload/queue-workload.ts";
import { type ItemOperation, StateWorkload } from "./workload/state-workload.ts";
import { StreamWorkload } from "./workload/stream-workload.ts";
import { TriggerWorkload } from "./workload/trigger-workload.ts";

/** Duration of the workload, in milliseconds. */
const WORK_MS = 7_000;
/** Time without faults at the end, in milliseconds. */
const QUIET_MS = 2_000;
/** Time in which everything must be done after the faults ended. */
const SETTLE_MS = 150_000;
/** Makes what decides whether a seed has a state trigger differ from the other draws of the seed. */
const TRIGGER_SALT = 0x7_419;
/** Modules of the engines, with the files of their stores. */
const STORES = {
  "svc-state": "state.db",
  "svc-stream": "stream.db",
  "svc-queue": "queue.db",
  "svc-cron": "cron.db",
} as const;
type ModuleName = keyof typeof STORES;
const CONFIGS: Readonly<Record<ModuleName, unknown>> = {
  "svc-state": {},
  "svc-stream": {},
  "svc-queue": queueConfig,
  "svc-cron": {},
};

export interface SeedResult {
  readonly seed: number;
  readonly violations: readonly string[];
  /** Hash of the trace: equal for runs of one seed. */
  readonly digest: string;
  readonly steps: number;
  readonly entries: number;
  readonly operations: readonly ItemOperation[];
  readonly modules: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

/** Runs a cluster with the faults and the workload of a seed, and checks it. `onLine` gets each line of the trace. */
export async function runSeed(
  seed: number,
  { folder: parent, onLine }: { readonly folder: string; readonly onLine?: (line: string) => void },
): Promise<SeedResult> {
  seedGlobals(seed);
  const random = new Random(seed);
  const scheduler = new Scheduler(random, onLine);
  const violations = new Violations();
  // Another one each time: engines that were killed have not released the files in it.
  const folder = mkdtempSync(join(parent, "seed-"));
  const onRejection = (error: unknown): void => {
    violations.add("no promise is left", error instanceof Error ? (error.stack ?? error.message) : String(error));
  };
  process.on("unhandledRejection", onRejection);
  try {
    return await new Simulation(seed, { scheduler, violations, folder }).run();
  } finally {
    process.off("unhandledRejection", onRejection);
    rmSync(folder, { recursive: true, force: true });
  }
}

class Simulation {
  readonly #seed: number;
  readonly #scheduler: Scheduler;
  readonly #violations: Violations;
  readonly #logs = new Map<
    string,
    { readonly log: MemoryLog; readonly seeds: MemorySeeds; readonly observed: ObservedLog }
  >();
  /** Each log is independent of the others, so most seeds run one or two modules. */
  readonly #modules: ReadonlySet<ModuleName>;
  readonly #nodes: readonly SimulatedNode[];
  readonly #faults: Faults;
  readonly #state: StateWorkload;
  readonly #streams: StreamWorkload;
  readonly #jobs: JobModel;
  readonly #queue: QueueWorkload;
  readonly #cron: CronWorkload;
  readonly #starts: CronStarts;
  readonly #calls: CallWorkload;
  readonly #deliveries: DeliveryModel;
  /** Undefined in most seeds: with a trigger, each write has many more entries. */
  readonly #triggers: TriggerWorkload | undefined;
  #events: ItemEvents[] = [];
  #clients = 0;

  constructor(
    seed: number,
    parts: { readonly scheduler: Scheduler; readonly violations: Violations; readonly folder: string },
  ) {
    const { scheduler, violations, folder } = parts;
    const { random } = scheduler;
    this.#seed = seed;
    this.#scheduler = scheduler;
    this.#violations = violations;
    this.#modules = new Set(drawModules(seed, random));
    const members = new MemberModel(violations);
    this.#jobs = new JobModel(violations, members);
    this.#starts = new CronStarts(violations);
    this.#deliveries = new DeliveryModel(violations);
    const observers = [members, this.#jobs, this.#starts, this.#deliveries];
    for (const module of this.#modules)
      this.#logs.set(STORES[module], {
        log: new MemoryLog(random.uuid()),
        seeds: new MemorySeeds(),
        observed: new ObservedLog(STORES[module], violations, observers),
      });
    this.#state = new StateWorkload(scheduler);
    this.#streams = new StreamWorkload(scheduler);
    this.#queue = new QueueWorkload(scheduler, this.#jobs);
    this.#cron = new CronWorkload(scheduler);
    this.#calls = new CallWorkload(scheduler, () => this.#nodes);
    // Not drawn with the rest, so that the other seeds are as they were before there were triggers.
    const hasTriggers = this.#modules.has("svc-state") && new Random(seed ^ TRIGGER_SALT).chance(0.4);
    this.#triggers = hasTriggers ? new TriggerWorkload(scheduler, this.#deliveries) : undefined;
    const shared: SharedParts = {
      ...{ scheduler, random, folder },
      config: Object.fromEntries([...this.#modules].map((module) => [module, CONFIGS[module]])),
      network: new SimulatedNetwork(scheduler),
      stores: [...this.#logs.keys()],
      logOf: (store) => this.#logOf(store),
      onApplied: ({ store, node, writes }, entry) => this.#logOf(store).observed.applied(node, writes, entry),
    };
    const names = ["a", "b", "c", "d", "e"].slice(0, random.pick([3, 3, 3, 4, 5]));
    this.#nodes = names.map(
      (name) =>
        new SimulatedNode(name, shared, {
          onStarted: (node, life, worker) => {
            const { engine } = life;
            this.#calls.serve(node, life, worker);
            if (this.#modules.has("svc-queue")) this.#queue.serve(life, worker);
            if (this.#modules.has("svc-cron")) this.#cron.serve(life, worker);
            this.#triggers?.serve(life, worker);
            if (engine !== undefined && this.#modules.has("svc-stream"))
              this.#events.push(new ItemEvents(life.process.name, engine.openSocket("/"), violations));
          },
        }),
    );
    this.#faults = new Faults(shared, this.#nodes);
  }

  async run(): Promise<SeedResult> {
    const scheduler = this.#scheduler;
    for (const node of this.#nodes) node.start();
    await scheduler.runUntil(20_000, () => this.#nodes.every(({ running }) => running !== undefined));
    if (this.#nodes.some(({ running }) => running === undefined))
      this.#violations.add("engines start", "an engine did not start without faults");
    const begin = scheduler.now;
    const end = begin + WORK_MS;
    this.#startClients(end);
    this.#faults.start();
    await scheduler.runUntil(end);
    this.#faults.end();
    await scheduler.runUntil(end + QUIET_MS);
    const isSettled = await scheduler.runUntil(end + SETTLE_MS, () => this.#isSettled());
    if (!isSettled) this.#violations.add("no call is open", this.#unsettled());
    const settledAt = scheduler.now;
    // Reads of the last state are part of the history.
    if (this.#modules.has("svc-state")) this.#readAll();
    await scheduler.runUntil(settledAt + 60_000, () => this.#clients === 0 && this.#areEqual());
    this.#check({ from: EPOCH_MS + begin + 11_000, to: EPOCH_MS + settledAt - 13_000 });
    for (const node of this.#nodes) {
      node.kill();
      node.loseDisk();
    }
    return this.#result();
  }

  #startClients(until: number): void {
    const steps: Readonly<Record<ModuleName, readonly ((engine: RunningEngine) => Promise<void>)[]>> = {
      "svc-state": [1, 2, 3].map((client) => (engine) => this.#state.step(client, engine)),
      "svc-stream": [1, 2].map(() => (engine) => this.#streams.step(engine)),
      "svc-queue": [1].map(() => (engine) => this.#queue.step(engine)),
      "svc-cron": [],
    };
    const callStep = (engine: RunningEngine): Promise<void> => this.#calls.step(engine);
    for (const step of [...[...this.#modules].flatMap((module) => steps[module]), callStep]) {
      this.#clients += 1;
      void runClient({ scheduler: this.#scheduler, nodes: this.#nodes, until, step }).finally(() => {
        this.#clients -= 1;
      });
    }
  }

  #readAll(): void {
    for (const { running } of this.#nodes)
      for (const key of running === undefined ? [] : ["k1", "k2"]) {
        this.#clients += 1;
        void this.#state.perform(0, running as RunningEngine, "get", key).finally(() => {
          this.#clients -= 1;
        });
      }
  }

  #isSettled(): boolean {
    return (
      this.#clients === 0 &&
      this.#jobs.count("waiting") + this.#jobs.count("leased") + this.#deliveries.pending === 0 &&
      this.#nodes.every(({ running, isOff }) => isOff || running !== undefined) &&
      invisibleNodes(this.#nodes).length === 0 &&
      this.#callsInFlight().length === 0
    );
  }

  /** Ticks of cron are calls too, and go on. */
  #callsInFlight(): readonly string[] {
    return this.#modules.has("svc-cron") ? [] : callsInFlight(this.#nodes);
  }

  #unsettled(): string {
    const nodes = this.#nodes.filter(({ running, isOff }) => !isOff && running === undefined).map(({ name }) => name);
    return `${this.#clients} clients wait, ${this.#jobs.count("waiting")} jobs wait, ${this.#jobs.count("leased")} are leased, ${this.#deliveries.pending} state changes wait, nodes ${nodes} do not run, functions of ${invisibleNodes(this.#nodes)} are invisible, ${this.#callsInFlight()}`;
  }

  /** True if each running node has applied the whole log of each store. */
  #areEqual(): boolean {
    return [...this.#logs].every(([store, { log }]) =>
      this.#nodes.every((node) => node.isOff || node.diskOf(store).position === log.state().last),
    );
  }

  #check(cronSpan: { readonly from: number; readonly to: number }): void {
    const violations = this.#violations;
    checkCalls(this.#calls, this.#nodes, violations);
    checkLinearizable(this.#state.operations, violations);
    this.#jobs.finish(this.#queue.acknowledged);
    this.#deliveries.finish();
    if (this.#modules.has("svc-cron"))
      this.#starts.finish(this.#cron.calls, {
        complete: CronWorkload.functionOf(this.#cron.policies[0]),
        ...cronSpan,
      });
    for (const events of this.#events) events.finish(this.#streams.acknowledged);
    for (const [store, { log }] of this.#logs)
      checkReplicas(
        store,
        log,
        this.#nodes.map((node) => node.diskOf(store)),
        violations,
      );
  }

  #result(): SeedResult {
    const observed = [...this.#logs.values()].map(({ observed }) => observed.length);
    return {
      seed: this.#seed,
      violations: this.#violations.found,
      digest: this.#scheduler.digest(),
      steps: this.#scheduler.steps,
      entries: observed.reduce((sum, length) => sum + length, 0),
      operations: this.#state.operations,
      modules: [...this.#modules],
      counts: {
        nodes: this.#nodes.length,
        done: this.#jobs.count("done"),
        dead: this.#jobs.count("dead"),
        operations: this.#state.operations.length,
        lives: this.#nodes.reduce((sum, { lives }) => sum + lives, 0),
        executions: this.#queue.executions.length,
        ticks: this.#cron.calls.length,
        deliveries: this.#deliveries.delivered,
        calls: this.#calls.calls.length,
        remote: this.#calls.calls.filter(
          ({ from, to, outcome }) => outcome?.status === "ok" && to !== undefined && !from.startsWith(to),
        ).length,
        virtual: Math.round(this.#scheduler.now),
      },
    };
  }

  #logOf(store: string) {
    const found = this.#logs.get(store);
    if (found === undefined) throw new Error(`the simulation has no store ${store}`);
    return found;
  }
}

/** Returns at least one module; all for seed 0, which loads their code. */
function drawModules(seed: number, random: Random): ModuleName[] {
  const all = Object.keys(STORES) as ModuleName[];
  if (seed === 0) return all;
  const drawn = all.filter(() => random.chance(0.35));
  return drawn.length === 0 ? [random.pick(all)] : drawn;
}
