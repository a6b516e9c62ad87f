import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { engineProofKey, FEATURES, type FunctionId } from "@svc-runtime/protocol";
import { principalOfToken } from "./access/grants.ts";
import { isRememberedEntry } from "./access/remembered-ids.ts";
import type { Cluster } from "./cluster/cluster.ts";
import { isExposed } from "./config/bind-rule.ts";
import { type ConfigOverrides, effectiveConfig, type LoadedConfig, loadConfig, watchConfig } from "./config/index.ts";
import { storedToken, tokenFileOf } from "./config/token-file.ts";
import { accessOf, ConfigReload, withoutEmptyLists } from "./config-reload.ts";
import { createKernel, type Kernel } from "./create-kernel.ts";
import { type Clock, systemClock } from "./kernel/clock.ts";
import { logEntryOf } from "./kernel/log-telemetry.ts";
import { type Logger, observedLogger, silentLogger } from "./kernel/logger.ts";
import type { Module } from "./kernel/module.ts";
import { ModuleHost, type ModuleState } from "./kernel/module-host.ts";
import type { OpenStore } from "./kernel/store-contract.ts";
import { type EngineAddresses, Listeners } from "./listeners.ts";
import { isSystemModule, moduleRequestsOf } from "./module-requests.ts";
import { consoleApi } from "./modules/console-api/index.ts";
import { type EngineInfo, engineFunctions, type NodeFacts } from "./modules/engine-functions/index.ts";
import { httpFunctions } from "./modules/http-functions/index.ts";
import { loadModules, OBSERVABILITY } from "./modules/index.ts";
import { liveUpdates } from "./modules/live-updates/index.ts";
import { createSupervisor } from "./modules/supervisor/index.ts";
import { type DataFolderLock, lockDataFolder } from "./store/data-folder.ts";
import { openStore } from "./store/open-store.ts";
import { SavedSet } from "./store/saved-set.ts";
import { EngineProof } from "./transport/engine-proof.ts";
import { fetchSiteIsSafe, originIsAllowed } from "./transport/guards.ts";
import { JsonSchemaChecks } from "./validation/index.ts";

export interface StartOptions {
  /** Path of the config file. */
  readonly configFile: string;
  /** Values of command-line flags; they override environment and file. */
  readonly overrides?: ConfigOverrides;
  /** Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /**
   * The clock of the modules in the config file: storage, schedules and retries. Default: `clock`, which everything
   * else uses.
   */
  readonly moduleClock?: Clock;
}

export interface RunningEngine {
  readonly addresses: EngineAddresses;
  /**
   * Like `addresses`, for people. A listener that other machines can reach is shown with its host and a note, e.g.
   * `ws://0.0.0.0:49134 (every interface)`.
   */
  readonly boundTo: EngineAddresses;
  /** The active configuration. Changes when the file changes. */
  readonly config: LoadedConfig;
  readonly version: string;
  readonly instanceId: string;
  /** Modules of the config file and their state. */
  modules(): readonly ModuleState[];
  /**
   * Stops the engine: accepts no new work, waits up to `graceMs` (default: the config's drain time) for calls in
   * flight, then stops workers and modules. May be called twice.
   */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

export const ENGINE_VERSION: string = (
  JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }
).version;

/**
 * Starts an engine from a config file: locks the data folder, binds the listeners, starts modules and local workers,
 * and watches the file for changes. Rejects with ConfigError, ListenError, or an Error that names the problem. After a
 * rejection nothing is left running.
 */
export async function startEngine(options: StartOptions): Promise<RunningEngine> {
  const env = options.env ?? process.env;
  const modules = await loadModules();
  const load = (): LoadedConfig => loadConfig(options.configFile, { env, overrides: options.overrides ?? {}, modules });
  const config = load();
  const log = options.logger ?? silentLogger;
  // Lock first: if the folder is in use, there is nothing to undo yet.
  const lock = lockDataFolder(config.engine.dataDir);
  let engine: Engine;
  let cluster: Cluster | undefined;
  try {
    cluster = await clusterOf(config, { log, onStoreEnded: (shared) => engine.reopen(shared) });
    const token = config.engine.token ?? storedToken(tokenFileOf(config.file));
    const proofKey = randomBytes(32).toString("base64url");
    const clock = options.clock ?? systemClock;
    engine = new Engine({
      config,
      load,
      modules,
      env,
      token,
      proofKey,
      lock,
      cluster,
      ownDir: options.overrides?.share?.folder,
      log,
      clock,
      moduleClock: options.moduleClock ?? clock,
    });
  } catch (error) {
    await cluster?.stop();
    lock.release();
    throw error;
  }
  await engine.start();
  return engine;
}

/**
 * Connects to the cluster if the config has one. Only in this case, the code for clusters and the NATS client are
 * loaded.
 */
async function clusterOf(
  { engine: { cluster: settings, dataDir } }: LoadedConfig,
  { log, onStoreEnded }: { readonly log: Logger; readonly onStoreEnded: (shared: string) => void },
): Promise<Cluster | undefined> {
  if (settings === undefined) return undefined;
  const { Cluster } = await import("./cluster/cluster.ts");
  return Cluster.connect({ settings, dataDir, logger: log.with({ module: "cluster" }), onStoreEnded });
}

/** Opens a store of an engine that is in no cluster. */
const storeOfThisEngine: OpenStore = (options) => {
  // For the engine's own modules, the config check reports this problem earlier. This check is for other modules.
  if (options.shared !== undefined) throw new Error("a shared store needs the block engine.cluster in the config file");
  return openStore(options);
};

class Engine implements RunningEngine {
  readonly version = ENGINE_VERSION;
  readonly #log: Logger;
  readonly #kernel: Kernel;
  readonly #listeners: Listeners;
  readonly #host: ModuleHost;
  /** The active configuration. A reload replaces it. */
  readonly #active: { config: LoadedConfig };
  readonly #reload: ConfigReload;
  readonly #lock: DataFolderLock;
  readonly #cluster: Cluster | undefined;
  readonly #proofKey: string;
  readonly #trustedIds: SavedSet;
  #stopWatching: () => Promise<void> = async () => {};
  #stopWatchingCertificates = (): void => {};
  #stopping: Promise<void> | undefined;

  constructor(parts: {
    readonly config: LoadedConfig;
    readonly load: () => LoadedConfig;
    /** Modules that the config file may name. */
    readonly modules: readonly Module[];
    readonly token: string;
    readonly proofKey: string;
    readonly lock: DataFolderLock;
    /** Undefined if the engine is alone. */
    readonly cluster: Cluster | undefined;
    /** Folder of one of several engines that run the config file. Undefined: it is the only one. */
    readonly ownDir: string | undefined;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly log: Logger;
    readonly clock: Clock;
    readonly moduleClock: Clock;
  }) {
    this.#active = { config: parts.config };
    this.#lock = parts.lock;
    this.#cluster = parts.cluster;
    this.#proofKey = parts.proofKey;
    const settings = (): LoadedConfig["engine"] => this.#active.config.engine;
    // The engine's own log records also go to the observability log.
    this.#log = observedLogger(parts.log, {
      level: () => settings().logLevel,
      now: () => parts.clock.now(),
      observe: (record) => kernel.telemetry.log(logEntryOf(record)),
    });
    const kernel = createKernel({
      clock: parts.clock,
      log: this.#log,
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
      cluster: parts.cluster?.nodeOptions,
    });
    this.#kernel = kernel;
    kernel.roles.set(accessOf(this.#active.config));
    this.#trustedIds = new SavedSet({
      file: join(parts.config.engine.dataDir, "trusted-ids.json"),
      what: "the list of ids of trusted workers",
      isEntry: isRememberedEntry,
      clock: parts.clock,
      log: this.#log,
    });
    const { token, clock } = parts;
    // The command line does not know a token from the config. It knows only the token in the file that engine.json
    // names.
    const proof = new EngineProof(
      engineProofKey(parts.proofKey, parts.config.engine.token === undefined ? token : undefined),
    );
    this.#listeners = new Listeners({ kernel, token, proof, clock, log: this.#log, config: () => this.#active.config });
    const projectDir = dirname(parts.config.file);
    this.#host = new ModuleHost(kernel, {
      modules: [
        engineFunctions(() => this.#info(), {
          config: () => effectiveConfig(this.#active.config, parts.modules),
          nodes: {
            own: () => this.#nodeFacts(),
            gone: () => kernel.nodes?.gone() ?? [],
            drain: kernel.nodes && {
              start: async (timeoutMs, options) => kernel.nodes?.drain.start(timeoutMs, options),
              end: () => kernel.nodes?.drain.end(),
            },
          },
        }),
        consoleApi(() => ({
          enabled: settings().consoleInvoke,
          originIsAllowed: (origin) =>
            originIsAllowed(origin, settings()) || origin === new URL(this.addresses.http).origin,
          fetchSiteIsSafe: (request) => fetchSiteIsSafe(request, settings()),
        })),
        liveUpdates,
        httpFunctions({ rules: () => settings().httpFunctions, env: parts.env }),
        createSupervisor({
          projectDir,
          logsDir: parts.config.engine.logsDir,
          runDir: join(parts.ownDir ?? join(projectDir, ".svc"), "run"),
          bridgeUrl: () => this.addresses.bridge,
          token: parts.token,
          tokenInUrl: () =>
            settings().bridgeAccess.tokenRequired ||
            settings().bridgeAccess.rbac !== undefined ||
            settings().bridgeAccess.middlewareFunctionId !== undefined,
          principalOfToken: (token) => principalOfToken(token, settings().bridgeAccess)?.id,
          claims: kernel.triggers,
          standby: kernel.standby,
          moduleStates: () => this.modules(),
        }),
        ...parts.modules,
      ],
      directory: kernel.directory,
      mounts: this.#listeners.mounts,
      dataDir: parts.config.engine.dataDir,
      openStore: parts.cluster?.openStoreOf(kernel.identity.instanceId) ?? storeOfThisEngine,
      production: () => isExposed(this.#active.config),
      outboundRules: () => settings().httpFunctions,
      // Observability measures real time. A test clock that jumps by days must not make its sampler run once for
      // every step.
      clockOf: (name) =>
        name !== OBSERVABILITY && parts.modules.some((module) => module.name === name)
          ? parts.moduleClock
          : parts.clock,
    });
    kernel.directory.setModuleHost(this.#host);
    this.#reload = new ConfigReload({
      load: parts.load,
      active: this.#active,
      roles: kernel.roles,
      unownedTriggers: kernel.unownedTriggers,
      listeners: this.#listeners,
      host: this.#host,
      log: this.#log,
      reserveIds: () => this.#reserveIds(),
      reannounce: () => this.#reannounce(),
    });
  }

  get config(): LoadedConfig {
    return this.#active.config;
  }

  get instanceId(): string {
    return this.#kernel.identity.instanceId;
  }

  get addresses(): EngineAddresses {
    return this.#listeners.addresses;
  }

  get boundTo(): EngineAddresses {
    return this.#listeners.boundTo;
  }

  modules(): readonly ModuleState[] {
    return this.#host.states().filter(({ name }) => !isSystemModule(name));
  }

  async start(): Promise<void> {
    try {
      this.#reserveIds();
      await this.#trustedIds.load();
      this.#kernel.reservedIds.keepIn(this.#trustedIds);
      this.#kernel.health.report("access", "engine", () => {
        const details = this.#trustedIds.problem ?? this.#trustedIds.failure;
        return details === undefined ? undefined : { status: "degraded", details };
      });
      await this.#listeners.bind(this.#active.config);
      this.#announce();
      this.#joinCluster();
      const problems = await this.#host.apply(moduleRequestsOf(this.#active.config));
      if (problems.length > 0) throw new Error(problems.join("\n"));
      this.#cluster?.checkName();
      this.#listeners.startServing();
    } catch (error) {
      await this.#tearDown();
      throw error;
    }
    for (const warning of this.#active.config.warnings) this.#log.warn(warning);
    this.#listeners.warnOfOpenListeners();
    const watch = watchConfig(this.#active.config.file, {
      revision: this.#active.config.revision,
      onChange: async (change) => {
        if (this.#stopping === undefined) await this.#reload.fileChanged(change);
      },
      onError: (error) =>
        this.#log.error("the config file could not be applied; the running configuration stays", { error }),
    });
    this.#stopWatching = () => watch.close();
    this.#stopWatchingCertificates = this.#listeners.watchCertificates();
    const addresses = withoutEmptyLists(this.addresses);
    this.#log.info("the engine is up", { ...addresses, ...this.#listeners.exposure(), version: this.version });
  }

  /** Opens a store of the cluster again, as a new run, after the former run ended, e.g. because it was expelled. */
  reopen(shared: string): void {
    if (this.#stopping !== undefined) return;
    const { log } = this.#kernel;
    this.#host
      .restart(`svc-${shared}`)
      .catch((error: unknown) => log.error("a module could not be started again", { module: `svc-${shared}`, error }));
  }

  #joinCluster(): void {
    const cluster = this.#cluster;
    const { nodes, health } = this.#kernel;
    if (cluster === undefined || nodes === undefined) return;
    health.report("cluster", "engine", () => cluster.health());
    this.#listeners.mounts.reportReadiness(() =>
      nodes.drain.state === "up" ? undefined : `the engine is ${nodes.drain.state}: its workers are at other engines`,
    );
    cluster.start(nodes);
  }

  stop(options: { readonly graceMs?: number } = {}): Promise<void> {
    this.#stopping ??= this.#drainAndStop(options.graceMs ?? this.#active.config.engine.drainMs);
    return this.#stopping;
  }

  async #drainAndStop(graceMs: number): Promise<void> {
    const from = performance.now();
    await this.#stopWatching();
    this.#stopWatchingCertificates();
    // Drain first, while calls are still accepted, so that workers and clients that can use another engine lose no
    // calls.
    await this.#kernel.nodes?.drain.finish(graceMs);
    this.#listeners.startDraining();
    this.#host.startDraining();
    this.#cluster?.startDraining();
    const { inFlight } = this.#kernel.router.counts;
    if (inFlight > 0) this.#log.info("finishing calls in flight", { in_flight: inFlight, grace_ms: graceMs });
    const isIdle = await this.#kernel.router.drain(Math.max(0, graceMs - (performance.now() - from)));
    if (!isIdle)
      this.#log.warn("calls were still in flight when the grace period ended", {
        in_flight: this.#kernel.router.counts.inFlight,
      });
    await this.#tearDown();
    this.#log.info("the engine has stopped");
  }

  async #tearDown(): Promise<void> {
    // In reverse order: the supervisor stops its workers while the bridge can still take their last results.
    await this.#host.stopAll();
    await this.#cluster?.stop();
    this.#listeners.close();
    await this.#trustedIds.close();
    this.#lock.release();
  }

  #reserveIds(): void {
    for (const id of this.#kernel.reservedIds.configure(accessOf(this.#active.config)))
      this.#kernel.ownership.withdrawFromRestricted(id as FunctionId, "decides over access now");
  }

  #announce(): void {
    const { file, engine } = this.#active.config;
    this.#lock.announce(this.addresses, {
      proofKey: this.#proofKey,
      ...(engine.token === undefined ? { tokenFile: tokenFileOf(file) } : {}),
    });
  }

  /**
   * Writes `engine.json` again. A failure is only logged, e.g. while the data folder is being moved, because the
   * running engine does not need the file.
   */
  #reannounce(): void {
    try {
      this.#announce();
    } catch (error) {
      this.#log.error(
        "the addresses of the engine cannot be written into the data folder; commands do not find it there",
        { error },
      );
    }
  }

  #nodeFacts(): NodeFacts {
    const { node, durability, durabilityReason, stores } = this.#cluster?.report() ?? {};
    return {
      name: node ?? hostname(),
      state: this.#stopping === undefined ? (this.#kernel.nodes?.drain.state ?? "up") : "draining",
      callsInFlight: this.#kernel.router.counts.inFlight,
      durability,
      durabilityReason,
      stores: stores ?? [],
    };
  }

  #info(): EngineInfo {
    const { identity } = this.#kernel;
    return {
      version: identity.version,
      instance_id: identity.instanceId,
      pid: process.pid,
      mode: this.#active.config.engine.mode,
      started_at_ms: identity.startedAtMs,
      config_file: this.#active.config.file,
      data_dir: this.#active.config.engine.dataDir,
      logs_dir: this.#active.config.engine.logsDir,
      addresses: this.addresses,
      features: FEATURES,
      modules: this.modules().map(({ name, state, reason }) => ({ name, state, reason: reason ?? null })),
    };
  }
}
