import { join } from "node:path";
import type { Bar } from "../bars.ts";
import type { Comparison } from "../comparison.ts";
import { type ClusterNode, type EngineProcess, type ModuleEntry, startEngine } from "../engine-process.ts";
import type { CallLoad } from "../generator/load.ts";
import type { Options } from "../options.ts";
import type { Generator, Server } from "../processes.ts";
import type { Measurement } from "../table.ts";

export interface ScenarioContext {
  readonly options: Options;
  readonly generator: Pick<Generator, "measure" | "perform" | "pid">;
  /** Set if the engines are compared with those of another checkout. */
  readonly comparison?: Comparison | undefined;
  /** Empty folder for this scenario's data, on the disk of the repository. */
  readonly folder: string;
  /** Folder of the results, for profiles. */
  readonly resultsFolder: string;
}

export interface ScenarioResult {
  readonly bars: readonly Bar[];
  readonly measurements: readonly Measurement[];
  /** Notes for the reader, e.g. what was not run. */
  readonly notes?: readonly string[];
}

/** One comparison, or several that share their servers. */
export interface Scenario {
  readonly title: string;
  /** Numbers of the rows that the scenario measures. `--rows` selects a scenario by them. */
  readonly rows: readonly number[];
  run(context: ScenarioContext): Promise<ScenarioResult>;
}

/** Turns off what every engine otherwise records: spans, metrics and logs. */
export const OBSERVABILITY_OFF: ModuleEntry = {
  name: "svc-observability",
  config: { enabled: false, metrics_enabled: false, logs_enabled: false },
};

/** Starts an engine for this scenario. `name` distinguishes the engines of one scenario. */
export function engineFor(
  context: ScenarioContext,
  name: string,
  modules: readonly ModuleEntry[] = [],
  cluster?: ClusterNode,
): Promise<EngineProcess> {
  const options = {
    kind: context.options.engine,
    folder: join(context.folder, name),
    modules,
    cluster,
    profileFolder: context.options.profile ? join(context.resultsFolder, `profile-${name}`) : undefined,
  };
  // In a cluster, no engine of the other checkout is started, because it would be a second node with the same name.
  const comparison = cluster === undefined ? context.comparison : undefined;
  return comparison?.start(name, options) ?? startEngine(options);
}

/** Returns the load of calls from one connection to another. */
export function echoCalls(
  server: { readonly port: number; readonly pid: number },
  { warmUpMs, measureMs }: Options,
  size: Pick<CallLoad, "concurrency" | "payloadBytes">,
): CallLoad {
  return {
    kind: "calls",
    target: "echo",
    port: server.port,
    callers: 1,
    callees: 1,
    ...size,
    warmUpMs,
    measureMs,
    observe: [server.pid],
  };
}

/** Runs `use` with servers that are always stopped afterwards. */
export async function withServers<Servers extends Record<string, Server>, Result>(
  starting: { readonly [Name in keyof Servers]: () => Promise<Servers[Name]> },
  use: (servers: Servers) => Promise<Result>,
): Promise<Result> {
  const servers: Partial<Servers> = {};
  try {
    // Starts them one after another: concurrent starts would disturb their start times.
    for (const name of Object.keys(starting) as (keyof Servers)[]) servers[name] = await starting[name]();
    return await use(servers as Servers);
  } finally {
    await Promise.all(Object.values(servers).map((server) => (server as Server).stop()));
  }
}

/** Returns all windows as table rows. */
export function measurementsOf(windows: Readonly<Record<string, Measurement["windows"]>>): Measurement[] {
  return Object.entries(windows).map(([variant, of]) => ({ variant, windows: of }));
}
