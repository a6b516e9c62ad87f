import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Machine, type NatsServer, type NatsServers, startNatsServers } from "@svc-runtime/engine/testing";
import type { NodeListing } from "@svc-runtime/protocol/listings";
import { freePorts } from "@svc-runtime/protocol/testing";
import { type EngineProcess, type Ports, startEngine, svc } from "../support/cli.ts";
import { eventually } from "../support/processes.ts";
import { makeCertificate } from "./certificates.ts";
import type { Machines } from "./machines.ts";

export const NODES = ["a", "b", "c"] as const;
export type NodeName = (typeof NODES)[number];

/** What is in logs. */
export const STORES = ["state", "queue", "cron"] as const;
export type StoreName = (typeof STORES)[number];

const CLUSTER = "faults";
const START_MS = 90_000;
const STOP_MS = 60_000;
const SETTLE_MS = 60_000;

interface Node {
  readonly project: string;
  readonly dataDir: string;
  readonly ports: Ports;
  readonly machine: Machine | undefined;
  engine: EngineProcess;
}

/** Three NATS servers and three engines, each a process of its own, on loopback or on machines. */
export class ClusterScene {
  readonly servers: NatsServers;
  readonly #nodes = new Map<NodeName, Node>();
  /** How long each start of an engine took, in milliseconds. */
  readonly startMs: number[] = [];
  /** Path of another `svc` for the first start of the engines. */
  #program: string | undefined;
  /** Ends of processes that nobody killed. */
  readonly unexpected: string[] = [];
  readonly #killed = new Set<EngineProcess>();
  /** Variables of the engines' next starts. */
  readonly #env = new Map<NodeName, Readonly<Record<string, string>>>();
  /** Engines that run: they are not killed, and do not stand still. */
  readonly live = new Set<NodeName>();

  private constructor(servers: NatsServers) {
    this.servers = servers;
  }

  /** `folder` is for projects, `data` for what the engines and the servers store. */
  static async open(options: {
    readonly folder: string;
    readonly data?: string;
    /** Addresses of the servers for an engine, e.g. of proxies. Default: the servers' own. */
    readonly natsOf?: (name: NodeName, servers: readonly NatsServer[]) => Promise<readonly string[]>;
    /** Path of another `svc` than the repository's, for the first start of the engines. */
    readonly program?: string;
    /** Growth of a log after which a snapshot is taken, in bytes. Default: the engine's. */
    readonly snapshotAfter?: number;
    /** Where they run: each has an engine and a server. Default: all on loopback. */
    readonly machines?: Machines;
  }): Promise<ClusterScene> {
    const { folder, data = join(folder, "data"), natsOf, program, snapshotAfter, machines } = options;
    const remote = machines && {
      machines: machines.all,
      tls: makeCertificate(
        folder,
        machines.all.map(({ address }) => address),
      ),
    };
    const servers = await startNatsServers(CLUSTER, NODES.length, { storeFolder: join(data, "nats"), ...remote });
    const scene = new ClusterScene(servers);
    scene.#program = program;
    const add = async (name: NodeName): Promise<void> => {
      const urls = (await natsOf?.(name, servers.servers)) ?? servers.urls;
      const tls = remote === undefined ? "" : `, tls: {ca: ${remote.tls.ca}}`;
      const nats = `{servers: [${urls.join(", ")}], replicas: ${NODES.length}${tls}}`;
      const [project, ports, machine] = [join(folder, name), await freePorts(), remote?.machines[NODES.indexOf(name)]];
      if (machine !== undefined) await machines?.forward(machine, [ports.bridge, ports.http]);
      await scene.#add(name, { project, dataDir: join(data, name), ports, machine }, { nats, snapshotAfter });
    };
    try {
      await Promise.all(NODES.map(add));
      scene.#program = undefined;
    } catch (error) {
      await scene.close();
      throw error;
    }
    return scene;
  }

  async #add(
    name: NodeName,
    node: Omit<Node, "engine">,
    { nats, snapshotAfter }: { readonly nats: string; readonly snapshotAfter: number | undefined },
  ): Promise<void> {
    const { project, dataDir } = node;
    mkdirSync(project);
    const threshold = snapshotAfter === undefined ? "" : `, snapshot_after: ${snapshotAfter}`;
    writeFileSync(
      join(project, "config.yaml"),
      `engine:
  data_dir: ${dataDir}
  cluster: {name: ${CLUSTER}, node: ${name}${threshold}, nats: ${nats}}
workers:
  - name: svc-state
  - name: svc-cron
  - {name: svc-queue, config: {queue_configs: {load: {concurrency: 8, max_attempts: 50, backoff_ms: 20}}}}
`,
    );
    this.#nodes.set(name, { ...node, engine: await this.#started(name, node) });
  }

  async #started(
    name: NodeName,
    { project, ports, machine }: Omit<Node, "engine">,
    withinMs = START_MS,
  ): Promise<EngineProcess> {
    const from = performance.now();
    const engine = await within(
      withinMs,
      `the start of engine ${name}`,
      startEngine({
        cwd: project,
        ports,
        env: this.#env.get(name) ?? {},
        command: machine?.command ?? [],
        ...(this.#program === undefined ? {} : { program: this.#program }),
      }),
    );
    void engine.exited.then((code) => {
      if (!this.#killed.has(engine))
        this.unexpected.push(`engine ${name} ended by itself (${code}): ${engine.output().slice(-2_000)}`);
    });
    this.live.add(name);
    this.startMs.push(performance.now() - from);
    return engine;
  }

  node(name: NodeName): Node {
    const found = this.#nodes.get(name);
    if (found === undefined) throw new Error(`the engine ${name} was not started`);
    return found;
  }

  /** Address for workers. */
  url(name: NodeName): string {
    return `ws://127.0.0.1:${this.node(name).ports.bridge}`;
  }

  signal(name: NodeName, signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    const { engine } = this.node(name);
    if (signal === "SIGKILL") this.#killed.add(engine);
    if (signal === "SIGCONT") this.live.add(name);
    else this.live.delete(name);
    engine.child.kill(signal);
  }

  /** Sets the variables with which an engine is started from now on. */
  setEnv(name: NodeName, env: Readonly<Record<string, string>>): void {
    this.#env.set(name, env);
  }

  /** Stops an engine with SIGTERM. Resolves when it has ended. */
  async stop(name: NodeName): Promise<void> {
    const { engine } = this.node(name);
    this.#killed.add(engine);
    this.live.delete(name);
    engine.child.kill("SIGTERM");
    const code = await within(STOP_MS, `the stop of engine ${name}`, engine.exited);
    if (code !== 0) this.unexpected.push(`engine ${name} ended with ${code} after SIGTERM`);
  }

  /** Starts an engine that was killed again. Resolves when it is up. */
  async startAgain(name: NodeName, withinMs = START_MS): Promise<void> {
    const node = this.node(name);
    await node.engine.exited;
    appendFileSync(join(node.project, "former-runs.log"), node.engine.output());
    node.engine = await this.#started(name, node, withinMs);
  }

  async killServer(at: number): Promise<void> {
    const server = this.servers.servers[at];
    if (server === undefined) throw new Error(`there is no NATS server ${at + 1}`);
    if (server.process.exitCode !== null || server.process.signalCode !== null)
      this.unexpected.push(`NATS server ${at + 1} had ended by itself`);
    await server.kill();
  }

  /** Kills all engines and servers at once. */
  async killAll(): Promise<void> {
    const servers = this.servers.servers.map((_, at) => this.killServer(at));
    for (const name of NODES) this.signal(name, "SIGKILL");
    await Promise.all([...servers, ...NODES.map((name) => this.node(name).engine.exited)]);
  }

  /** Starts all of them again, at once. */
  async startAll(): Promise<void> {
    await Promise.all([
      ...this.servers.servers.map((server) => server.restart()),
      ...NODES.map((name) => this.startAgain(name)),
    ]);
  }

  /** Status of `/readyz` of an engine; undefined if it does not answer. */
  async readyStatus(name: NodeName): Promise<number | undefined> {
    try {
      const url = `http://127.0.0.1:${this.node(name).ports.http}/readyz`;
      const { status } = await fetch(url, { signal: AbortSignal.timeout(5_000) });
      return status;
    } catch {
      return undefined;
    }
  }

  /** Resolves when `svc nodes` shows all engines up, none behind, without a problem and without a call in flight. */
  async settled(): Promise<void> {
    let shown = "";
    const isSettled = async (): Promise<boolean> => {
      const url = this.url("a");
      const { code, stdout } = await svc(["nodes", "--json"], { cwd: this.node("a").project, url, timeoutMs: 20_000 });
      shown = stdout;
      if (code !== 0) return false;
      const { nodes } = JSON.parse(stdout) as { readonly nodes: readonly NodeListing[] };
      return (
        nodes.length === NODES.length &&
        nodes.every(
          ({ state, self, report }) =>
            state === "up" &&
            report?.durability === "durable" &&
            // The question itself is a call.
            report.calls_in_flight <= (self ? 1 : 0) &&
            report.stores.every(({ behind, problem }) => behind === 0 && problem === null),
        )
      );
    };
    await eventually("all engines are up and equal", isSettled, SETTLE_MS).catch((error: Error) => {
      throw new Error(`${error.message}: ${shown}`);
    });
  }

  replicaOf(name: NodeName, store: StoreName): string {
    return join(this.node(name).dataDir, "cluster", `${store}.db`);
  }

  /** Lines of the present engines' logs with this text. */
  logged(text: string): string[] {
    return NODES.flatMap((name) =>
      this.node(name)
        .engine.output()
        .split("\n")
        .filter((line) => line.includes(text)),
    );
  }

  async close(): Promise<void> {
    for (const name of this.#nodes.keys()) {
      this.signal(name, "SIGKILL");
      const { engine, project } = this.node(name);
      await engine.exited;
      appendFileSync(join(project, "former-runs.log"), engine.output());
    }
    await this.servers.stop();
  }
}

/** Rejects if the promise has not settled in time. */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${ms} ms: ${what}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
