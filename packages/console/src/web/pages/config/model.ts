import type { ConsoleSetting } from "../../../contract/api.ts";

// What the engine tells of itself, as the Config page reads it.

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

/** `engine::config::effective`; secrets are masked by the engine. */
export interface EffectiveConfig {
  readonly file: string | null;
  readonly settings: readonly Setting[];
  readonly modules: readonly ModuleSettings[];
}

/** `engine::info`. */
export interface EngineInfo {
  readonly version: string;
  readonly instance_id: string;
  readonly pid: number;
  readonly started_at_ms: number;
  readonly config_file: string | null;
  readonly data_dir: string;
  readonly logs_dir: string;
  readonly addresses: { readonly bridge: string; readonly bridges: readonly string[]; readonly http: string | null; readonly realtime: string | null };
  readonly features: readonly string[];
  readonly modules: readonly { readonly name: string; readonly state: string; readonly reason: string | null }[];
}

export interface StoreFigures {
  readonly stored: number;
  readonly limit: number | null;
  readonly bytes: number;
  readonly max_bytes: number;
  readonly disk_bytes?: number;
  readonly oldest_ms: number | null;
}

/** `engine::telemetry::status`. */
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

/** `engine::sampling::rules`. */
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
  readonly components: Readonly<Record<string, { readonly status: HealthState; readonly details: string; readonly since_ms?: number }>>;
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
  /** As the engine, or the console, has it in effect; null where nobody could tell. */
  readonly port: number | null;
  readonly standard: number;
  readonly source: string | null;
  /** Where the console looks for it, and from what it has that; undefined of its own port. */
  readonly lookedFor: { readonly port: number; readonly source: string } | undefined;
}

const PORTS = [
  { name: "Engine HTTP API", purpose: "HTTP API and routes of your functions", flag: "--engine-port", module: "svc-http", standard: 3111 },
  { name: "Engine WebSocket server", purpose: "live updates and streams", flag: "--ws-port", module: "svc-stream", standard: 3112 },
  { name: "Engine SDK bridge", purpose: "connections of workers", flag: "--bridge-port", module: "engine.bridge", standard: 49134 },
] as const;

/** Each port with what is in effect, its default, and who said so. */
export function portRows(settings: readonly ConsoleSetting[], engine: readonly Setting[], consoleUrl: string | undefined): readonly PortRow[] {
  const own = settings.find(({ flag }) => flag === "--port");
  const consolePort = consoleUrl === undefined ? numberOf(own?.value) : portOf(consoleUrl);
  return [
    ...PORTS.map(({ name, purpose, flag, module, standard }): PortRow => {
      const told = engine.find(({ key }) => key === `${module}.port`);
      const looked = settings.find((setting) => setting.flag === flag);
      const port = numberOf(looked?.value);
      return {
        ...{ name, purpose, standard, port: numberOf(told?.value), source: told?.source ?? null },
        lookedFor: port === null || looked === undefined ? undefined : { port, source: looked.source },
      };
    }),
    {
      ...{ name: "Console web UI", purpose: "this page", port: consolePort, standard: 3113, source: own?.source ?? null },
      lookedFor: undefined,
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
  /** Our own: its versions go with the engine's, those of other clients do not. */
  readonly isOurs: boolean;
  readonly workers: readonly { readonly id: string; readonly name: string }[];
}

/** What of a worker tells its SDK. */
export interface SdkFacts {
  readonly id: string;
  readonly name: string;
  readonly runtime: string;
  readonly version: string | null;
  readonly kind: string;
  /** Only our SDKs name any. */
  readonly features: readonly string[];
}

/** The SDKs by which workers are connected, each version with its workers. */
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
  return [...rows.values()].sort((a, b) => a.runtime.localeCompare(b.runtime) || (a.version ?? "").localeCompare(b.version ?? ""));
}

/** Workers whose SDK may not fit the engine, a sentence for each version. */
export function sdkMismatches(rows: readonly SdkRow[], engine: string): readonly string[] {
  return rows.flatMap(({ runtime, version, isOurs, workers }) => {
    const names = workers.map(({ name }) => name).join(", ");
    const found = isOurs ? versionMismatch(`The SDK (${runtime}) of ${names}`, version, engine) : undefined;
    return found === undefined ? [] : [found];
  });
}

/** Why two versions may not fit each other; undefined when they do: as long as nothing is 1.0, major and minor are to be the same. */
export function versionMismatch(what: string, version: string | null, engine: string): string | undefined {
  if (version === null) return undefined;
  const [mine, theirs] = [release(version), release(engine)];
  return mine === theirs ? undefined : `${what} is ${version}, the engine ${engine}: they may not understand each other in everything`;
}

function release(version: string): string {
  const [major = "", minor = ""] = version.split(".");
  return major === "0" ? `0.${minor}` : major;
}
