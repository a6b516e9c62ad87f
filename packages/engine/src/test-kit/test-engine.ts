import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { type RunningEngine, startEngine } from "../engine.ts";
import { createLogger, type LogRecord } from "../kernel/logger.ts";
import { type ManualClock, TestClock } from "./manual-clock.ts";

/** Modules that store data in files by default; a test's data is deleted with it. */
const STORING_MODULES: ReadonlySet<string> = new Set(["svc-state", "svc-stream", "svc-queue"]);
/** Always loaded. */
const OBSERVABILITY = "svc-observability";
/** Above this the oldest are removed. */
const MAX_LOGS = 10_000;

type Block = Readonly<Record<string, unknown>>;

export interface TestEngineOptions {
  /**
   * Modules to load, e.g. `["svc-http", "svc-state"]`. Default none. Modules that store data keep it in memory, unless
   * their config names an adapter.
   */
  readonly modules?: readonly string[] | undefined;
  /** Config blocks by module, as in `config.yaml`; each must be among `modules`. `engine` is the engine's own block. */
  readonly config?: Readonly<Record<string, Block>> | undefined;
  /**
   * The clock of the modules, for expiry, schedules and retries. `real` (the default), or a clock that the test
   * controls. Connections and deadlines of calls always use real time.
   */
  readonly clock?: "real" | ManualClock | undefined;
  /** Variables that the config may use. Default none; those of the process are not read. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * An existing folder, to keep data from one engine to the next (if the adapters store any). Default: a new one,
   * deleted by `stop`.
   */
  readonly folder?: string | undefined;
}

/** A real engine in this process, on free ports of the loopback address. */
export interface TestEngine {
  /** For `connect` of the SDK. */
  readonly url: string;
  /** The address where `svc-http` serves routes. */
  readonly httpUrl: string;
  /** For `connectStreams` of the SDK. */
  readonly streamsUrl: string;
  /** Contains the config file and the data. */
  readonly folder: string;
  /** The engine's log, oldest first; the last 10,000 records. Nothing is printed. */
  readonly logs: readonly LogRecord[];
  /** Shuts the engine down at once and deletes its files. Further calls have no effect. */
  stop(): Promise<void>;
}

/**
 * Starts an engine for a test. Any number can run at the same time, in one process or several. Rejects with TypeError
 * for unknown options and for blocks of modules that are not loaded, and with ConfigError for an invalid config. After
 * a rejection nothing is left running.
 */
export async function startTestEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  requireKnown(options);
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), "svc-test-")));
  const removeFolder = async (): Promise<void> => {
    if (options.folder === undefined) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  const logs: LogRecord[] = [];
  const logger = createLogger({
    level: "debug",
    now: Date.now,
    write(record) {
      logs.push(record);
      if (logs.length > MAX_LOGS) logs.shift();
    },
  });
  let engine: RunningEngine;
  try {
    const configFile = join(folder, "config.yaml");
    await writeFile(configFile, configText(options));
    engine = await startEngine({
      configFile,
      env: options.env ?? {},
      overrides: { bridgePort: 0, httpPort: 0, realtimePort: 0 },
      logger,
      ...(options.clock === undefined || options.clock === "real" ? {} : { moduleClock: clockOf(options.clock) }),
    });
  } catch (error) {
    await removeFolder();
    throw error;
  }
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await engine.stop({ graceMs: 0 });
    await removeFolder();
  };
  return {
    url: engine.addresses.bridge,
    httpUrl: engine.addresses.http,
    streamsUrl: engine.addresses.realtime,
    folder,
    logs,
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

const OPTIONS: readonly string[] = [
  "modules",
  "config",
  "clock",
  "env",
  "folder",
] satisfies (keyof TestEngineOptions)[];

/** Throws for options that would otherwise be ignored silently: tests in plain JavaScript have no type checks. */
function requireKnown(options: TestEngineOptions): void {
  const unknown = Object.keys(options).filter((name) => !OPTIONS.includes(name));
  if (unknown.length > 0)
    throw new TypeError(`startTestEngine has no option ${unknown.join(", ")}; there are ${OPTIONS.join(", ")}`);
  const { modules = [], config = {} } = options;
  if (!Array.isArray(modules)) throw new TypeError("`modules` must be a list of names");
  const idle = Object.keys(config).filter((name) => name !== "engine" && !modules.includes(name));
  if (idle.length > 0)
    throw new TypeError(
      `\`config\` has blocks of modules that are not loaded: ${idle.join(", ")}; add them to \`modules\``,
    );
}

function clockOf(clock: ManualClock): TestClock {
  if (clock instanceof TestClock) return clock;
  throw new TypeError("`clock` must be `real` or what `manualClock()` made");
}

function configText({ modules = [], config = {} }: TestEngineOptions): string {
  const { engine, ...blocks } = config;
  const names = [...new Set([...modules, OBSERVABILITY])];
  const workers = names.map((name) => ({ name, config: { ...inMemory(name), ...blocks[name] } }));
  return stringify({ workers, ...(engine === undefined ? {} : { engine }) });
}

/** Returns the settings with which a module keeps its data in memory. */
function inMemory(name: string): Block {
  if (name === OBSERVABILITY) return { trace_storage: { enabled: false } };
  return STORING_MODULES.has(name) ? { adapter: { name: "in_memory" } } : {};
}
