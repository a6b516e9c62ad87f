import type { ConsoleSetting } from "../../../contract/api.ts";
import { t } from "../../labels/translate.ts";
import type { StoreFigures } from "../../model/store-figures.ts";

// Types of the results of the engine's functions that the Config page calls.

export interface Setting {
  readonly key: string;
  readonly value: unknown;
  readonly source: string;
}

export interface ModuleSettings {
  readonly name: string;
  readonly instance: string;
  readonly where: string;
  readonly settings: readonly Setting[];
}

/** Result of `engine::config::effective`. The engine masks secrets. */
export interface EffectiveConfig {
  readonly file: string | null;
  readonly settings: readonly Setting[];
  readonly modules: readonly ModuleSettings[];
}

/** Result of `engine::info`. */
export interface EngineInfo {
  readonly version: string;
  readonly instance_id: string;
  readonly pid: number;
  readonly started_at_ms: number;
  readonly config_file: string | null;
  readonly data_dir: string;
  readonly logs_dir: string;
  readonly addresses: {
    readonly bridge: string;
    readonly bridges: readonly string[];
    readonly http: string | null;
    readonly realtime: string | null;
  };
  readonly features: readonly string[];
  readonly modules: readonly { readonly name: string; readonly state: string; readonly reason: string | null }[];
}

/** Result of `engine::telemetry::status`. */
export interface TelemetryStatus {
  readonly service_name: string;
  readonly exporter: string;
  readonly endpoint: string;
  readonly protocol: string;
  readonly sampling: { readonly ratio: number; readonly rules: number };
  readonly spans: StoreFigures | null;
  readonly logs: StoreFigures | null;
  readonly metrics: { readonly series: number; readonly limit: number };
  readonly dropped: readonly { readonly signal: string; readonly reason: string; readonly count: number }[];
  readonly exporters: readonly {
    readonly signal: string;
    readonly state: string;
    readonly last_error?: string;
    readonly queued: number;
    readonly sent: number;
    readonly dropped: number;
    readonly last_success_ms?: number | null;
  }[];
  readonly receivers: readonly {
    readonly kind: string;
    readonly address: string | null;
    readonly state: string;
    readonly accepted: number;
    readonly refused: number;
  }[];
}

/** Result of `engine::sampling::rules`. */
export interface SamplingRules {
  readonly traces: {
    readonly default_ratio: number;
    readonly rules: readonly Readonly<Record<string, unknown>>[];
    readonly parent_based: boolean;
    readonly rate_limit: unknown;
    readonly keep_errors: boolean;
    readonly keep_slow_ms: number | null;
  };
  readonly logs: { readonly sampling_ratio: number };
}

export type HealthState = "healthy" | "degraded" | "unhealthy" | "disabled";

export interface Health {
  readonly status: HealthState;
  readonly components: Readonly<
    Record<string, { readonly status: HealthState; readonly details: string; readonly since_ms?: number }>
  >;
}

export interface TriggerType {
  readonly id: string;
  readonly description: string;
  readonly worker_name: string;
  readonly workers: readonly { readonly id: string; readonly name: string }[];
  readonly instance_count: number;
}

export interface PortRow {
  readonly name: string;
  readonly purpose: string;
  /** Port in use; null if it is not known. */
  readonly port: number | null;
  readonly defaultPort: number;
  readonly source: string | null;
  /** Port to which the console connects, and the source of this setting. Undefined for the console's own port. */
  readonly expected: { readonly port: number; readonly source: string } | undefined;
}

const PORTS = [
  {
    name: t`Engine HTTP API`,
    purpose: t`HTTP API and routes of your functions`,
    flag: "--engine-port",
    module: "svc-http",
    defaultPort: 3111,
  },
  {
    name: t`Engine WebSocket server`,
    purpose: t`Live updates and streams`,
    flag: "--ws-port",
    module: "svc-stream",
    defaultPort: 3112,
  },
  {
    name: t`Engine SDK bridge`,
    purpose: t`Connections of workers`,
    flag: "--bridge-port",
    module: "engine.bridge",
    defaultPort: 49134,
  },
] as const;

/** Returns each port with its effective value, default and source. */
export function portRows(
  settings: readonly ConsoleSetting[],
  engine: readonly Setting[],
  consoleUrl: string | undefined,
): readonly PortRow[] {
  const own = settings.find(({ flag }) => flag === "--port");
  const consolePort = consoleUrl === undefined ? numberOf(own?.value) : portOf(consoleUrl);
  return [
    ...PORTS.map(({ name, purpose, flag, module, defaultPort }): PortRow => {
      const effective = engine.find(({ key }) => key === `${module}.port`);
      const configured = settings.find((setting) => setting.flag === flag);
      const port = numberOf(configured?.value);
      return {
        ...{ name, purpose, defaultPort, port: numberOf(effective?.value), source: effective?.source ?? null },
        expected: port === null || configured === undefined ? undefined : { port, source: configured.source },
      };
    }),
    {
      ...{
        name: t`Console web UI`,
        purpose: t`This page`,
        port: consolePort,
        defaultPort: 3113,
        source: own?.source ?? null,
      },
      expected: undefined,
    },
  ];
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function portOf(url: string): number | null {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

export interface SdkRow {
  readonly runtime: string;
  readonly version: string | null;
  /** True if this is one of svc's SDKs. Only their versions can be compared with the engine's version. */
  readonly isOurs: boolean;
  readonly workers: readonly { readonly id: string; readonly name: string }[];
}

/** The members of a worker from which its SDK is known. */
export interface SdkFacts {
  readonly id: string;
  readonly name: string;
  readonly runtime: string;
  readonly version: string | null;
  readonly kind: string;
  /** Features of the SDK. Empty for clients that are not svc's SDKs. */
  readonly features: readonly string[];
}

/** Returns the SDK versions in use, each with its workers. */
export function sdkRows(workers: readonly SdkFacts[]): readonly SdkRow[] {
  const rows = new Map<string, SdkRow & { workers: { id: string; name: string }[] }>();
  for (const { id, name, runtime, version, kind, features } of workers) {
    if (kind === "module") continue;
    const isOurs = features.length > 0;
    const key = `${runtime} ${version} ${isOurs}`;
    const row = rows.get(key) ?? { runtime, version, isOurs, workers: [] };
    row.workers.push({ id, name });
    rows.set(key, row);
  }
  return [...rows.values()].sort(
    (a, b) => a.runtime.localeCompare(b.runtime) || (a.version ?? "").localeCompare(b.version ?? ""),
  );
}

/** Returns a warning for each SDK version that may be incompatible with the engine. */
export function sdkMismatches(rows: readonly SdkRow[], engine: string): readonly string[] {
  return rows.flatMap(({ runtime, version, isOurs, workers }) => {
    const names = workers.map(({ name }) => name).join(", ");
    const found = isOurs ? versionMismatch(t`The SDK (${runtime}) of ${names}`, version, engine) : undefined;
    return found === undefined ? [] : [found];
  });
}

/**
 * Returns a warning if two versions may be incompatible. They are compatible if the major version is the same; before
 * 1.0, the minor version must be the same too.
 */
export function versionMismatch(what: string, version: string | null, engine: string): string | undefined {
  if (version === null) return undefined;
  const [mine, theirs] = [release(version), release(engine)];
  return mine === theirs ? undefined : t`${what} is ${version}, the engine ${engine}: they may be incompatible`;
}

function release(version: string): string {
  const [major = "", minor = ""] = version.split(".");
  return major === "0" ? `0.${minor}` : major;
}
