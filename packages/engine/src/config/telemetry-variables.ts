import { MASK } from "@svc-runtime/protocol";
import type { z } from "zod";
import type { EffectiveSetting, ModuleEntry } from "./types.ts";

/** Module that the variables configure. */
const MODULE = "svc-observability";
const YES: ReadonlySet<string> = new Set(["1", "true", "yes", "on"]);
const NO: ReadonlySet<string> = new Set(["0", "false", "no", "off"]);

type Reading = (text: string) => unknown;

const asIs: Reading = (text) => text;
const number: Reading = (text) => (/^[0-9.]+$/.test(text) ? Number(text) : text);
const boolean: Reading = (text) => (YES.has(text.toLowerCase()) ? true : NO.has(text.toLowerCase()) ? false : text);
/** Parses `name=value,…`, percent-encoded. The specification of OTLP exporters defines this format. */
const headers: Reading = (text) => {
  try {
    const pairs = text.split(",").map((pair) => pair.trim().split(/=(.*)/s, 2) as [string, string | undefined]);
    return Object.fromEntries(
      pairs.map(([name, value]) => [name, value === undefined ? undefined : decodeURIComponent(value)]),
    );
  } catch {
    return text;
  }
};

/**
 * Standard variables of OpenTelemetry, and the settings that they set. The config file overrides them, because other
 * programs use the same variables.
 */
const VARIABLES: readonly (readonly [variable: string, key: string, read: Reading])[] = [
  ["OTEL_ENABLED", "enabled", boolean],
  ["OTEL_SERVICE_NAME", "service_name", asIs],
  ["SERVICE_VERSION", "service_version", asIs],
  ["SERVICE_NAMESPACE", "service_namespace", asIs],
  ["OTEL_EXPORTER_TYPE", "exporter", asIs],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "endpoint", asIs],
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "protocol", asIs],
  ["OTEL_EXPORTER_OTLP_HEADERS", "headers", headers],
  ["OTEL_TRACES_SAMPLER_ARG", "sampling_ratio", number],
  ["OTEL_MEMORY_MAX_SPANS", "memory_max_spans", number],
  ["OTEL_METRICS_ENABLED", "metrics_enabled", boolean],
  ["OTEL_METRICS_EXPORTER", "metrics_exporter", asIs],
  ["OTEL_METRICS_RETENTION_SECONDS", "metrics_retention_seconds", number],
  ["OTEL_METRICS_MAX_COUNT", "metrics_max_count", number],
  ["OTEL_LOGS_BATCH_SIZE", "logs_batch_size", number],
  ["OTEL_LOGS_FLUSH_INTERVAL_MS", "logs_flush_interval_ms", number],
];

/**
 * Returns the variable of a setting, e.g. OTEL_ENABLED for `svc-observability.enabled`, or undefined if it has none.
 */
export function telemetryVariableOf(setting: string): string | undefined {
  return VARIABLES.find(([, key]) => setting === `${MODULE}.${key}`)?.[0];
}

export interface WithVariables {
  readonly modules: readonly ModuleEntry[];
  readonly effective: readonly EffectiveSetting[];
  readonly warnings: readonly string[];
}

/**
 * Sets settings from variables if the file does not set them. An invalid value is ignored with a warning, because the
 * variable may be meant for another program and must not prevent the engine from starting.
 */
export function withTelemetryVariables(
  modules: readonly ModuleEntry[],
  env: Readonly<Record<string, string | undefined>>,
  known: readonly { readonly name: string; readonly config: z.ZodType }[],
): WithVariables {
  const schema = known.find(({ name }) => name === MODULE)?.config;
  const entry = modules.find(({ instance }) => instance === MODULE);
  const block = (entry?.config ?? {}) as Readonly<Record<string, unknown>>;
  const values: Record<string, unknown> = {};
  const effective: EffectiveSetting[] = [];
  const warnings: string[] = [];
  for (const [variable, key, read] of VARIABLES) {
    const text = Object.hasOwn(env, variable) ? (env[variable] ?? "").trim() : "";
    if (schema === undefined || text === "" || Object.hasOwn(block, key)) continue;
    const value = read(text);
    const parsed = schema.safeParse({ [key]: value });
    if (!parsed.success) {
      warnings.push(
        `the variable ${variable} is ignored: ${parsed.error.issues[0]?.message ?? "invalid value"} (${MODULE}, ${key})`,
      );
      continue;
    }
    values[key] = value;
    const isSecret = key === "headers";
    effective.push({
      key: `${MODULE}.${key}`,
      value: isSecret ? MASK : (value as string | number | boolean),
      source: "env",
      ...(isSecret ? { secret: true } : {}),
    });
  }
  if (Object.keys(values).length === 0) return { modules, effective, warnings };
  const filled: ModuleEntry = {
    name: MODULE,
    instance: MODULE,
    where: "environment",
    ...entry,
    config: { ...values, ...block },
  };
  return {
    modules: entry === undefined ? [filled, ...modules] : modules.map((one) => (one === entry ? filled : one)),
    effective,
    warnings,
  };
}
