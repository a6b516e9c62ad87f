import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { FEATURES } from "@svc/protocol";
import {
  type ConfigDiff,
  ConfigError,
  type ConfigFileChange,
  type ConfigOverrides,
  diffConfig,
  effectiveConfig,
  type LoadedConfig,
  loadConfig,
  watchConfig,
} from "./config/index.ts";
import { type Clock, systemClock } from "./kernel/clock.ts";
import { createKernel } from "./kernel/create-kernel.ts";
import type { Kernel } from "./kernel/kernel.ts";
import { type Logger, silentLogger } from "./kernel/logger.ts";
import { ModuleHost, type ModuleRequest, type ModuleState } from "./kernel/module-host.ts";
import { consoleApi } from "./modules/console-api/index.ts";
import { type EngineInfo, engineFunctions } from "./modules/engine-functions/index.ts";
import { configurableModules } from "./modules/index.ts";
import { liveUpdates } from "./modules/live-updates/index.ts";
import { createSupervisor } from "./modules/supervisor/index.ts";
import { type DataFolderLock, lockDataFolder } from "./store/data-folder.ts";
import { Bridge } from "./transport/bridge.ts";
import { type AccessRules, fetchSiteIsSafe, originIsAllowed } from "./transport/guards.ts";
import { HttpApi } from "./transport/http-api.ts";
import type { Listener } from "./transport/listener.ts";
import { Realtime } from "./transport/realtime.ts";
import { JsonSchemaChecks } from "./validation/index.ts";

export interface StartOptions {
  /** Path of the config file. */
  readonly configFile: string;
  /** What command-line flags say; beats environment and file. */
  readonly overrides?: ConfigOverrides;
  /** Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/** Addresses as URLs, with the ports that are bound. */
export interface EngineAddresses {
  /** For workers, e.g. `ws://localhost:49134`. */
  readonly bridge: string;
  /** E.g. `http://localhost:3111`. */
  readonly http: string;
  /** E.g. `ws://localhost:3112`. */
  readonly realtime: string;
}

export interface RunningEngine {
  readonly addresses: EngineAddresses;
  /** The configuration in force; changes when the file does. */
  readonly config: LoadedConfig;
  readonly version: string;
  readonly instanceId: string;
  /** Modules of the config file and how they are. */
  modules(): readonly ModuleState[];
  /** Takes no new work, finishes calls in hand for up to `graceMs` (default: the config's drain time), stops workers and modules. Safe to call twice. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Modules that every engine runs, whatever its config says. */
const SYSTEM_MODULES: readonly string[] = ["engine-functions", "console-api", "live-updates"];
const SUPERVISOR = "supervisor";

export const ENGINE_VERSION: string = (JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }).version;

/**
 * Starts an engine from a config file: locks the data folder, binds the listeners, starts modules and local workers, and
 * follows changes of the file. Rejects with ConfigError, ListenError, or an Error that names what went wrong; nothing is left running then.
 */
export async function startEngine(options: StartOptions): Promise<RunningEngine> {
  const env = options.env ?? process.env;
  const load = (): LoadedConfig => loadConfig(options.configFile, { env, overrides: options.overrides ?? {}, modules: configurableModules });
  const config = load();
  const engine = new Engine({ config, load, log: options.logger ?? silentLogger, clock: options.clock ?? systemClock });
  await engine.start();
  return engine;
}

class Engine implements RunningEngine {
  readonly version = ENGINE_VERSION;
  readonly #load: () => LoadedConfig;
  readonly #log: Logger;
  readonly #kernel: Kernel;
  readonly #bridge: Bridge;
  readonly #http: HttpApi;
  readonly #realtime: Realtime;
  readonly #host: ModuleHost;
  #config: LoadedConfig;
  #lock: DataFolderLock | undefined;
  #stopWatching: () => Promise<void> = async () => {};
  #stopping: Promise<void> | undefined;

  constructor(parts: { readonly config: LoadedConfig; readonly load: () => LoadedConfig; readonly log: Logger; readonly clock: Clock }) {
    this.#config = parts.config;
    this.#load = parts.load;
    this.#log = parts.log;
    const settings = (): LoadedConfig["engine"] => this.#config.engine;
    const { kernel, directory } = createKernel({
      clock: parts.clock,
      log: parts.log,
      version: ENGINE_VERSION,
      formats: new JsonSchemaChecks(() => settings().validateRequests),
      deadlines: {
        get defaultTimeoutMs() {
          return settings().defaultTimeoutMs;
        },
        get legacyCallTimeoutMs() {
          return settings().legacyCallTimeoutMs;
        },
      },
    });
    const rules = (): AccessRules => settings();
    this.#kernel = kernel;
    this.#bridge = new Bridge(kernel, rules);
    this.#http = new HttpApi(parts.log, rules);
    this.#realtime = new Realtime(parts.clock, rules, parts.log);
    const projectDir = dirname(parts.config.file);
    this.#host = new ModuleHost({
      modules: [
        engineFunctions(() => this.#info(), { config: () => effectiveConfig(this.#config, configurableModules) }),
        consoleApi(() => ({
          enabled: settings().consoleInvoke,
          originIsAllowed: (origin) => originIsAllowed(origin, settings()) || origin === new URL(this.addresses.http).origin,
          fetchSiteIsSafe: (request) => fetchSiteIsSafe(request, settings()),
        })),
        liveUpdates,
        createSupervisor({
          projectDir,
          logsDir: parts.config.engine.logsDir,
          runDir: join(projectDir, ".svc", "run"),
          bridgeUrl: () => this.addresses.bridge,
          claims: kernel.triggers,
          moduleStates: () => this.modules(),
        }),
        ...configurableModules,
      ],
      kernel,
      directory,
      mounts: {
        mountHttp: (mount) => this.#http.mount(mount),
        mountSocket: (path, accept) => this.#realtime.mount(path, accept),
        reportReadiness: (problem) => this.#http.reportReadiness(problem),
      },
      dataDir: parts.config.engine.dataDir,
    });
    directory.setModuleHost(this.#host);
  }

  get config(): LoadedConfig {
    return this.#config;
  }

  get instanceId(): string {
    return this.#kernel.identity.instanceId;
  }

  get addresses(): EngineAddresses {
    const at = (scheme: string, { host, port }: Listener): string =>
      `${scheme}://${host === "127.0.0.1" ? "localhost" : host.includes(":") ? `[${host}]` : host}:${port}`;
    return { bridge: at("ws", this.#bridge.listener), http: at("http", this.#http.listener), realtime: at("ws", this.#realtime.listener) };
  }

  modules(): readonly ModuleState[] {
    return this.#host.states().filter(({ name }) => name !== SUPERVISOR && !SYSTEM_MODULES.includes(name));
  }

  async start(): Promise<void> {
    this.#lock = lockDataFolder(this.#config.engine.dataDir);
    try {
      await this.#bindAll(this.#config);
      this.#lock.announce(this.addresses);
      const problems = await this.#host.apply(requestsOf(this.#config));
      if (problems.length > 0) throw new Error(problems.join("\n"));
    } catch (error) {
      await this.#tearDown();
      throw error;
    }
    for (const warning of this.#config.warnings) this.#log.warn(warning);
    const watch = watchConfig(this.#config.file, {
      revision: this.#config.revision,
      onChange: (change) => this.#fileChanged(change),
      onError: (error) => this.#log.error("the config file could not be applied; the running configuration stays", { error }),
    });
    this.#stopWatching = () => watch.close();
    this.#log.info("the engine is up", { ...this.addresses, version: this.version });
  }

  stop(options: { readonly graceMs?: number } = {}): Promise<void> {
    this.#stopping ??= this.#drainAndStop(options.graceMs ?? this.#config.engine.drainMs);
    return this.#stopping;
  }

  async #drainAndStop(graceMs: number): Promise<void> {
    await this.#stopWatching();
    this.#http.startDraining();
    const { inFlight } = this.#kernel.router.counts;
    if (inFlight > 0) this.#log.info("finishing calls in flight", { inFlight, graceMs });
    const isIdle = await this.#kernel.router.drain(graceMs);
    if (!isIdle) this.#log.warn("calls were still in flight when the grace period ended", { inFlight: this.#kernel.router.counts.inFlight });
    await this.#tearDown();
    this.#log.info("the engine has stopped");
  }

  async #tearDown(): Promise<void> {
    // Latest first: the supervisor stops its workers while the bridge is still there for their last answers.
    await this.#host.stopAll();
    this.#realtime.closeAll();
    for (const { listener } of [this.#http, this.#realtime, this.#bridge]) listener.stopAccepting();
    this.#bridge.dropAll();
    for (const { listener } of [this.#http, this.#realtime, this.#bridge]) listener.close();
    this.#lock?.release();
  }

  async #bindAll(config: LoadedConfig): Promise<void> {
    await this.#bridge.listener.bind(config.engine.bridge);
    await this.#http.listener.bind(config.http);
    await this.#realtime.listener.bind(config.realtime);
  }

  async #fileChanged(change: ConfigFileChange): Promise<void> {
    if (this.#stopping !== undefined) return;
    if (change.kind === "unreadable") {
      this.#log.error("the config file cannot be read; the running configuration stays", { reason: change.reason });
      return;
    }
    let next: LoadedConfig;
    try {
      next = this.#load();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#log.error("the config file has mistakes; the running configuration stays", { problems: error.message });
      return;
    }
    const before = this.#config;
    const diff = diffConfig(before, next);
    for (const warning of next.warnings) if (!before.warnings.includes(warning)) this.#log.warn(warning);
    for (const warning of diff.warnings) this.#log.warn(warning);
    if (diff.isEmpty) return;
    const undoMoves: (() => Promise<void>)[] = [];
    try {
      await this.#moveListeners(diff, undoMoves);
      this.#lock?.announce(this.addresses);
      this.#config = { ...next, engine: { ...next.engine, ...settingsOfThisRun(before) } };
      const problems = await this.#host.apply(requestsOf(next));
      if (problems.length === 0) {
        this.#log.info("the config file was applied", describeDiff(diff));
        return;
      }
      this.#log.error("the config file could not be applied; the running configuration stays", { problems });
    } catch (error) {
      this.#log.error("the config file could not be applied; the running configuration stays", { error });
    }
    await this.#goBackTo(before, undoMoves);
  }

  async #goBackTo(before: LoadedConfig, undoMoves: readonly (() => Promise<void>)[]): Promise<void> {
    this.#config = before;
    for (const undoMove of undoMoves) await undoMove();
    this.#lock?.announce(this.addresses);
    const problems = await this.#host.apply(requestsOf(before));
    if (problems.length > 0) this.#log.error("the former configuration could not be restored in full", { problems });
  }

  /** Adds to `undoMoves` how to take back each move that was made; one that failed left its listener where it was. */
  async #moveListeners({ http, realtime }: ConfigDiff, undoMoves: (() => Promise<void>)[]): Promise<void> {
    for (const [listener, change] of [
      [this.#http.listener, http],
      [this.#realtime.listener, realtime],
    ] as const) {
      if (change === undefined) continue;
      const boundAt = { host: change.before.host, port: listener.port };
      await listener.bind(change.after);
      undoMoves.push(() => listener.bind(boundAt));
    }
  }

  #info(): EngineInfo {
    const { identity } = this.#kernel;
    return {
      version: identity.version,
      instance_id: identity.instanceId,
      pid: process.pid,
      started_at_ms: identity.startedAtMs,
      config_file: this.#config.file,
      data_dir: this.#config.engine.dataDir,
      logs_dir: this.#config.engine.logsDir,
      addresses: this.addresses,
      features: FEATURES,
      modules: this.modules().map(({ name, state, reason }) => ({ name, state, reason: reason ?? null })),
    };
  }
}

/** The supervisor comes last, so that workers find every module running. */
function requestsOf(config: LoadedConfig): ModuleRequest[] {
  return [
    ...SYSTEM_MODULES.map((name) => ({ name, config: undefined })),
    ...config.modules.map(({ name, instance, config: block }) => ({ name, instance, config: block })),
    { name: SUPERVISOR, config: { workers: config.localWorkers } },
  ];
}

/** What only a restart changes: workers know the bridge's address, and open files lie in the folders. */
function settingsOfThisRun({ engine }: LoadedConfig): Pick<LoadedConfig["engine"], "bridge" | "dataDir" | "logsDir"> {
  return { bridge: engine.bridge, dataDir: engine.dataDir, logsDir: engine.logsDir };
}

function describeDiff({ modules, localWorkers, settings }: ConfigDiff): Readonly<Record<string, readonly string[]>> {
  const namesOf = (entries: readonly { readonly name: string }[]): string[] => entries.map(({ name }) => name);
  return {
    added: [...namesOf(modules.added), ...namesOf(localWorkers.added)],
    removed: [...namesOf(modules.removed), ...namesOf(localWorkers.removed)],
    changed: [
      ...namesOf(modules.changed.map(({ after }) => after)),
      ...namesOf(localWorkers.changed.map(({ after }) => after)),
      ...settings.map(({ key }) => key),
    ],
  };
}
