import { setMaxListeners } from "node:events";
import { basename, relative } from "node:path";
import type { Worker } from "@svc-runtime/sdk";
import { announcedEngine, engineIn } from "../engine/announced-engine.ts";
import { announcedAddress, type EngineAddress } from "../engine/engine-address.ts";
import { withEngines } from "../engine/engine-session.ts";
import { CommandFailure } from "../exit-codes.ts";
import { listedEntries } from "../project/config-entries.ts";
import type { Shell } from "../shell.ts";
import { deferred, listenForStop, type StopRequests } from "../stop-requests.ts";
import { openBrowser } from "../terminal/open-browser.ts";
import { table } from "../terminal/table.ts";
import { hangingIndent } from "../terminal/word-wrap.ts";
import { workerAddHint } from "../workers/worker-add-hint.ts";
import type { ClusterPlan, GivenPorts, PlannedNode } from "./cluster-plan.ts";
import { KEYS_HELP, KEYS_LINE, listenForDevKeys } from "./dev-keys.ts";
import { DevOutput } from "./dev-output.ts";
import { KeptProcess } from "./dev-process.ts";
import { type EngineAddresses, EngineRun, portFlags } from "./engine-run.ts";
import { followWorkers } from "./follow-workers.ts";
import { NatsRun } from "./nats-run.ts";
import { nodeName } from "./node-name.ts";
import { restartWorkers } from "./restart-workers.ts";
import { START_TIMEOUT_MS, untilConsoleIsUp, withinTime } from "./start-time.ts";
import { SvcChild } from "./svc-child.ts";

export interface DevOptions {
  /** Absolute path. */
  readonly configFile: string;
  /** Ports of the engine; in a cluster, of the first engine. */
  readonly ports: GivenPorts;
  /** Number of engines of a cluster. Undefined: one engine without a cluster. */
  readonly cluster: number | undefined;
  /** Additional flags for the engines, and flags for the console, e.g. `["--port", "0"]`. */
  readonly engineFlags: readonly string[];
  readonly consoleFlags: readonly string[];
  readonly withConsole: boolean;
  /** Whether to open the browser when the console is ready. */
  readonly open: boolean;
  /** Whether to omit ids that svc created from the output. */
  readonly quietIds: boolean;
}

/** An engine with its process and its node of the cluster. */
interface DevEngine {
  readonly process: KeptProcess<EngineAddresses>;
  /** Undefined for an engine without a cluster. */
  readonly node: PlannedNode | undefined;
}

interface StartedEngine extends DevEngine {
  readonly addresses: EngineAddresses;
}

/**
 * Runs engine, console and workers until the user stops them. When this settles, all of them have exited. Throws if the
 * engine exits on its own.
 */
export async function runDev(shell: Shell, options: DevOptions): Promise<void> {
  const stop = listenForStop(shell, { stdin: "ignored", nowMs: () => performance.now() });
  const dev = new Dev(shell, options, stop);
  try {
    await dev.run();
  } finally {
    await dev.end();
    stop.forget();
  }
}

class Dev {
  readonly #shell: Shell;
  readonly #options: DevOptions;
  readonly #output: DevOutput;
  readonly #quit = new AbortController();
  readonly #startedAtMs = Date.now();
  #plan: ClusterPlan | undefined;
  #servers: readonly KeptProcess<void>[] = [];
  #engines: readonly DevEngine[] = [];
  #console: SvcChild | undefined;
  #consoleAddress: string | undefined;
  #stopKeys = (): void => {};

  constructor(shell: Shell, options: DevOptions, stop: StopRequests) {
    this.#shell = shell;
    this.#options = options;
    // Disable the limit of listeners, because each process and each followed worker adds a listener to this signal.
    setMaxListeners(0, this.#quit.signal);
    this.#output = new DevOutput(shell, {
      names: this.#workerNames(),
      own: sourcesOf(options.cluster),
      quietIds: options.quietIds,
    });
    void stop.first.then(() => this.#requestStop());
    void stop.second.then(() => this.#killAll());
  }

  async run(): Promise<void> {
    // Listen from the beginning, so that a key can also stop a slow start.
    this.#listenForKeys([]);
    if (!(await this.#startServers())) return;
    const started = await this.#startEngines();
    if (started === undefined) return;
    await withEngines(
      started.map((engine) => this.#address(engine)),
      "svc dev",
      async (engines) => {
        this.#listenForKeys(engines);
        const following = engines.map((engine) =>
          followWorkers(engine, {
            sinceMs: this.#startedAtMs,
            signal: this.#quit.signal,
            onLine: (line) => this.#output.worker(line),
            onProblem: (message) => this.#note(message),
          }),
        );
        try {
          if (this.#options.withConsole) await this.#startConsole();
          if (!this.#quit.signal.aborted) this.#summarise(started);
          if (this.#options.open) this.#openConsole();
          await this.#untilEnd();
        } finally {
          this.#quit.abort();
          await Promise.all(following);
        }
      },
    );
  }

  /**
   * Stops console, engines and workers, then the NATS servers. May be called at any time. Keys still work until the
   * end, so that the user can stop at once.
   */
  async end(): Promise<void> {
    this.#quit.abort();
    try {
      await Promise.all([this.#console?.stop(), ...this.#engines.map(({ process }) => process.stop())]);
      await Promise.all(this.#servers.map((server) => server.stop()));
    } finally {
      this.#plan?.release();
      this.#output.flush();
      this.#stopKeys();
    }
  }

  /** Starts the NATS servers of a cluster. Returns false if the user stopped `svc dev` before they were ready. */
  async #startServers(): Promise<boolean> {
    const { cluster, configFile, ports } = this.#options;
    if (cluster === undefined) return true;
    // Imported lazily: `svc dev` without a cluster does not need it.
    const [{ findNatsServer }, { planCluster }] = await Promise.all([
      import("./find-nats-server.ts"),
      import("./cluster-plan.ts"),
    ]);
    const program = await findNatsServer(this.#shell.env);
    const plan = await planCluster(this.#shell, { configFile, count: cluster, given: ports });
    this.#plan = plan;
    const { PATH = "", HOME = "" } = this.#shell.env;
    let areUp = false;
    this.#servers = plan.servers.map(({ name, configFile: file }) => {
      const source = `nats ${name}`;
      const report = (line: string): void => this.#output.own(source, line);
      // Errors are shown only when all servers are ready. Before, the first server cannot reach the others, which is
      // normal.
      const onError = (line: string): void => (areUp ? report(line) : undefined);
      const options = { name, program, file, cwd: this.#shell.cwd, env: { PATH, HOME }, onError };
      return new KeptProcess({ name: source, start: () => new NatsRun(options), report });
    });
    areUp = (await this.#untilUp(this.#servers)) !== undefined;
    if (areUp) for (const server of this.#servers) void server.keep();
    return areUp;
  }

  /** Starts the engines. Returns undefined if the user stopped `svc dev` before they were ready. */
  async #startEngines(): Promise<readonly StartedEngine[] | undefined> {
    const nodes: readonly (PlannedNode | undefined)[] = this.#plan?.nodes ?? [undefined];
    this.#engines = nodes.map((node) => ({ node, process: this.#startEngine(node) }));
    const addresses = await this.#untilUp(this.#engines.map(({ process }) => process));
    if (addresses === undefined) return undefined;
    if (this.#plan !== undefined) for (const { process } of this.#engines) void process.keep();
    return this.#engines.flatMap((engine, index) => {
      const own = addresses[index];
      return own === undefined ? [] : [{ ...engine, addresses: own }];
    });
  }

  #startEngine(node: PlannedNode | undefined): KeptProcess<EngineAddresses> {
    const { configFile, engineFlags, ports } = this.#options;
    const name = node === undefined ? "engine" : `engine ${node.name}`;
    const onLine = (line: string): void => this.#output.own(name, line);
    const share = node === undefined ? [] : ["--share", JSON.stringify(node.share)];
    let listensAt = flagsOf(node?.ports ?? ports);
    const start = (): EngineRun => {
      const args = ["--config", configFile, "--log", "json", ...engineFlags, ...listensAt, ...share];
      const run = new EngineRun({ spawn: (onOutput) => this.#spawn(args, onOutput), onLine });
      // After a restart, the engine must use the same ports again.
      void run.up.then((addresses) => {
        listensAt = portFlags(addresses);
      });
      return run;
    };
    return new KeptProcess({ name, start, report: onLine });
  }

  /**
   * Resolves with the facts that each process reports when it is ready. Resolves with undefined if the user stopped
   * `svc dev` before. Throws if one of the processes ends.
   */
  async #untilUp<Up>(processes: readonly KeptProcess<Up>[]): Promise<readonly Up[] | undefined> {
    const started = await Promise.all(
      processes.map(async ({ name, process }) => {
        const up = process.up.then((value) => ({ value }));
        const outcome = await withinTime<{ readonly value: Up } | string | undefined>([
          up,
          process.ended,
          this.#aborted(),
        ]);
        if (outcome === "time up")
          throw new CommandFailure(`The ${name} did not report that it is up within ${START_TIMEOUT_MS / 1000} s.`);
        // startFailure is called only now, because the last lines of output may arrive together with the exit.
        if (typeof outcome === "string") throw process.startFailure(outcome);
        return outcome;
      }),
    );
    const values = started.flatMap((one) => (one === undefined ? [] : [one.value]));
    return values.length < started.length ? undefined : values;
  }

  /** Starts the console. If it fails to start, reports that and continues without it. */
  async #startConsole(): Promise<void> {
    const up = deferred<"up">();
    const child = this.#spawn(
      ["console", "--config", this.#options.configFile, "--no-open", ...this.#options.consoleFlags],
      (line) => {
        const address = /^The console is at (\S+)$/.exec(line)?.[1];
        if (address === undefined) {
          this.#output.own("console", line);
          return;
        }
        this.#consoleAddress = address;
        up.settle("up");
      },
    );
    this.#console = child;
    void child.ended.then((how) => {
      this.#consoleAddress = undefined;
      if (!this.#quit.signal.aborted)
        this.#output.own(
          "console",
          `the console has exited (${how}); everything else keeps running. Start it again with: svc console`,
        );
    });
    await untilConsoleIsUp([up.promise, child.ended, this.#aborted()], {
      report: (message) => this.#output.own("console", message),
    });
  }

  /** Resolves when the user stops `svc dev`. Throws if an engine exits that is not started again. */
  async #untilEnd(): Promise<void> {
    const alone = this.#engines.flatMap(({ node, process }) => (node === undefined ? [process.process.ended] : []));
    const how = await Promise.race([...alone, this.#aborted()]);
    if (how === undefined) return;
    throw new CommandFailure(`The engine exited (${how}); the console and the workers were stopped.`, {
      advice: ["The lines above may show the reason. Start again with: svc dev"],
    });
  }

  #spawn(args: readonly string[], onLine: (line: string) => void): SvcChild {
    // SVC_URL is removed, because it may be the address of another engine. FORCE_COLOR is removed, because `svc dev`
    // adds colours itself.
    const { SVC_URL: _url, FORCE_COLOR: _force, ...env } = this.#shell.env;
    return new SvcChild({ args, cwd: this.#shell.cwd, env: { ...env, NO_COLOR: "1" }, onLine });
  }

  #address({ node, addresses: { bridge } }: StartedEngine): EngineAddress {
    const announced =
      node === undefined ? announcedEngine(this.#shell, this.#options.configFile) : engineIn(node.dataDir);
    return announced === undefined ? { url: bridge, shownUrl: bridge, from: "config" } : announcedAddress(announced);
  }

  /** Returns the names of the local workers in the config file. */
  #workerNames(): readonly string[] {
    const entries = [...listedEntries(this.#options.configFile).values()];
    return entries.filter(({ folder }) => folder !== undefined).map(({ name }) => name);
  }

  #summarise(engines: readonly StartedEngine[]): void {
    const { paint, cwd, noteColumns } = this.#shell;
    const [first] = engines;
    if (first === undefined) return;
    const { http, realtime } = first.addresses;
    const bridges = engines.map(({ addresses: { bridge } }) => bridge).join(",");
    const row = (name: string, value: string): string =>
      `${hangingIndent(`  ${paint.dim(name.padEnd(14))}`, value, noteColumns).join("\n")}\n`;
    const workers = this.#workerNames();
    const configFile = relative(cwd, this.#options.configFile);
    this.#output.flush();
    this.#shell.note(
      `\n${paint.bold("svc dev")} ${paint.green("is running")}\n\n${[
        row("console", this.#consoleAddress === undefined ? "not running" : paint.cyan(this.#consoleAddress)),
        row("HTTP API", paint.cyan(http)),
        row("live updates", paint.cyan(realtime)),
        row("workers", `${paint.cyan(bridges)}  address for workers (SVC_URL)`),
        row("config", configFile === "" ? basename(this.#options.configFile) : configFile),
        row(
          "local workers",
          workers.length === 0
            ? `none yet; in a second terminal: ${workerAddHint(cwd, this.#options.configFile)}`
            : workers.join(", "),
        ),
        ...(this.#plan === undefined ? [] : [`\n${this.#processTable(this.#plan, engines)}`]),
      ].join("")}\n  ${this.#shell.onKey === undefined ? "Press Ctrl-C to stop everything." : KEYS_LINE}\n\n`,
    );
  }

  /** Returns a table of the processes, so that the user can kill one to see what happens. */
  #processTable({ servers }: ClusterPlan, engines: readonly StartedEngine[]): string {
    const rows = [
      ...engines.map(({ process, addresses }) => [
        process.name,
        String(process.process.pid),
        addresses.bridge,
        addresses.http,
      ]),
      ...this.#servers.map(({ name, process }, index) => [name, String(process.pid), servers[index]?.url ?? "", ""]),
    ];
    return table(["PROCESS", "PID", "ADDRESS", "HTTP API"], rows).replaceAll(/^/gm, "  ").trimEnd().concat("\n");
  }

  #listenForKeys(engines: readonly Worker[]): void {
    this.#stopKeys();
    const unlessStopping = (action: () => void) => (): void => {
      if (!this.#quit.signal.aborted) action();
    };
    this.#stopKeys = listenForDevKeys(this.#shell, {
      restartWorkers: unlessStopping(
        () =>
          void this.#restartWorkers(engines).catch((error: unknown) =>
            this.#note(`Failed to restart the workers: ${messageOf(error)}`),
          ),
      ),
      openConsole: unlessStopping(() => this.#openConsole()),
      help: unlessStopping(() => {
        this.#output.flush();
        this.#shell.note(KEYS_HELP);
      }),
      quit: () => this.#requestStop(),
      emptyLine: () => this.#output.emptyLine(),
    });
  }

  async #restartWorkers(engines: readonly Worker[]): Promise<void> {
    if (engines.length === 0) throw new Error("the engine is still starting");
    const named = engines.map((engine, index) => ({ engine, name: this.#engines[index]?.process.name ?? "engine" }));
    await restartWorkers(named, (text) => this.#note(text));
  }

  #openConsole(): void {
    const address = this.#consoleAddress;
    if (address === undefined) this.#note("The console is not running; start it in a second terminal: svc console");
    else
      this.#note(
        openBrowser(address, this.#shell)
          ? `Opening ${address}`
          : `Cannot open a browser here; the console is at ${address}`,
      );
  }

  #note(text: string): void {
    this.#output.flush();
    this.#shell.note(`${this.#shell.paint.bold(text)}\n`);
  }

  #requestStop(): void {
    if (this.#quit.signal.aborted) {
      this.#killAll();
      return;
    }
    const all =
      this.#options.cluster === undefined
        ? "the console, the engine and its workers"
        : "the console, the engines with their workers, and the NATS servers";
    this.#note(`Stopping ${all}. Press Ctrl-C again to stop at once.`);
    this.#quit.abort();
  }

  #killAll(): void {
    this.#console?.kill();
    for (const { process } of this.#engines) process.kill();
    for (const server of this.#servers) server.kill();
  }

  /** Resolves when the user stops `svc dev`. */
  #aborted(): Promise<undefined> {
    const { signal } = this.#quit;
    return new Promise((settle) => {
      if (signal.aborted) settle(undefined);
      signal.addEventListener("abort", () => settle(undefined), { once: true });
    });
  }
}

/** Returns the names of all sources of output that are not workers. */
function sourcesOf(cluster: number | undefined): readonly string[] {
  if (cluster === undefined) return ["engine", "console"];
  const engines = Array.from({ length: cluster }, (_, at) => `engine ${nodeName(at)}`);
  return [...engines, "nats n1", "nats n2", "nats n3", "console"];
}

function flagsOf({ bridge, http, realtime }: GivenPorts): readonly string[] {
  const flag = (name: string, port: number | undefined): readonly string[] =>
    port === undefined ? [] : [name, String(port)];
  return [...flag("--bridge-port", bridge), ...flag("--http-port", http), ...flag("--ws-port", realtime)];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
