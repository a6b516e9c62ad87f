import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { type RunningEngine, startEngine } from "../engine.ts";
import { createLogger, type LogRecord } from "../kernel/logger.ts";
import { type ManualClock, TestClock } from "./manual-clock.ts";

/** Modules that would keep their data in files; a test's data goes with it. */
const KEEPERS: ReadonlySet<string> = new Set(["svc-state", "svc-stream", "svc-queue"]);
/** The oldest go first. */
const MAX_LOGS = 10_000;

type Block = Readonly<Record<string, unknown>>;

export interface TestEngineOptions {
  /** Modules to load, e.g. `["svc-http", "svc-state"]`. Default none. Those that keep data keep it in memory, unless their config names an adapter. */
  readonly modules?: readonly string[] | undefined;
  /** Config blocks by module, which must be among `modules`, as in `config.yaml`; and `engine` for the block of that name. */
  readonly config?: Readonly<Record<string, Block>> | undefined;
  /**
   * The time of the modules: what ends, is scheduled, is tried again. `real` (the default), or a clock that the test moves. Connections and the
   * deadlines of calls always live in real time.
   */
  readonly clock?: "real" | ManualClock | undefined;
  /** Variables that the config may name. Default none; those of the process are not read. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** A folder that is there, to keep data from one engine to the next (by adapters that keep any). Default: a new one, removed at the stop. */
  readonly folder?: string | undefined;
}

/** A real engine in this process, on free ports of the loopback address. */
export interface TestEngine {
  /** For `connect` of the SDK. */
  readonly url: string;
  /** Where `svc-http` serves routes. */
  readonly httpUrl: string;
  /** For `connectStreams` of the SDK. */
  readonly streamsUrl: string;
  /** Holds the config file and the data. */
  readonly folder: string;
  /** What the engine logged, oldest first; the last 10,000. Nothing is printed. */
  readonly logs: readonly LogRecord[];
  /** Shuts it down at once and removes what it left. Again does nothing. */
  stop(): Promise<void>;
}

/**
 * Starts an engine for a test. Any number may run at once, in one process and in several. Rejects with TypeError for options that do not exist and
 * blocks of modules that are not loaded, with ConfigError for a config that does not hold; nothing is left then.
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

const OPTIONS: readonly string[] = ["modules", "config", "clock", "env", "folder"] satisfies (keyof TestEngineOptions)[];

/** What would otherwise be left out in silence: a test in plain JavaScript has no types to be told by. */
function requireKnown(options: TestEngineOptions): void {
  const unknown = Object.keys(options).filter((name) => !OPTIONS.includes(name));
  if (unknown.length > 0) throw new TypeError(`startTestEngine has no option ${unknown.join(", ")}; there are ${OPTIONS.join(", ")}`);
  const { modules = [], config = {} } = options;
  if (!Array.isArray(modules)) throw new TypeError("`modules` must be a list of names");
  const idle = Object.keys(config).filter((name) => name !== "engine" && !modules.includes(name));
  if (idle.length > 0) throw new TypeError(`\`config\` has blocks of modules that are not loaded: ${idle.join(", ")}; add them to \`modules\``);
}

function clockOf(clock: ManualClock): TestClock {
  if (clock instanceof TestClock) return clock;
  throw new TypeError("`clock` must be `real` or what `manualClock()` made");
}

function configText({ modules = [], config = {} }: TestEngineOptions): string {
  const { engine, ...blocks } = config;
  const names = [...new Set(modules)];
  const workers = names.map((name) => ({ name, config: { ...(KEEPERS.has(name) ? { adapter: { name: "in_memory" } } : {}), ...blocks[name] } }));
  return stringify({ workers, ...(engine === undefined ? {} : { engine }) });
}
