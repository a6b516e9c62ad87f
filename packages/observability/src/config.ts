import { dirname, isAbsolute, join, resolve } from "node:path";
import type { Signal } from "@svc-runtime/engine/module";
import { SECRET_NAMES } from "@svc-runtime/protocol";
import { z } from "zod";

const ratio = z.number().min(0).max(1);
const httpUrl = z.url({ protocol: /^https?$/ });

const alertAction = z.discriminatedUnion("type", [
  z.object({ type: z.literal("log") }),
  z.object({ type: z.literal("webhook"), url: httpUrl }),
  z.object({
    type: z.literal("function"),
    path: z.string().min(1).max(256).meta({ description: "Id of the function" }),
  }),
]);

/** Members of an alert rule, without their defaults. */
const alertFields = {
  name: z
    .string()
    .min(1)
    .max(256)
    .regex(/^\P{Cc}+$/u, { message: "must hold no control characters" }),
  metric: z.string().min(1).max(256).meta({
    description:
      "A name from engine::metrics::list, e.g. svc.calls; for a counter its increase within the window is compared",
  }),
  threshold: z.number(),
  operator: z.enum([
    ">",
    ">=",
    "<",
    "<=",
    "==",
    "!=",
    "greaterthan",
    "greaterthanorequal",
    "lessthan",
    "lessthanorequal",
    "equal",
    "notequal",
    "GreaterThan",
    "GreaterThanOrEqual",
    "LessThan",
    "LessThanOrEqual",
    "Equal",
    "NotEqual",
  ]),
  window_seconds: z.number().int().min(5).max(86_400),
  labels: z
    .record(z.string().max(128), z.string().max(1_024))
    .refine((labels) => Object.keys(labels).length <= 16, { message: "at most 16 labels" })
    .optional()
    .meta({ description: "Only series with these labels, e.g. {function_id: math::add}" }),
  rate: z.boolean().meta({ description: "Compare the increase per second instead of the increase" }),
  for_seconds: z
    .number()
    .int()
    .min(0)
    .max(86_400)
    .meta({ description: "How long the condition must hold before the alert fires" }),
  action: alertAction,
  enabled: z.boolean(),
  cooldown_seconds: z
    .number()
    .int()
    .min(0)
    .max(86_400)
    .meta({ description: "Minimum time between two notifications of this alert" }),
};

export const alertRuleSchema = z.strictObject({
  ...alertFields,
  operator: alertFields.operator.default(">"),
  window_seconds: alertFields.window_seconds.default(60),
  rate: alertFields.rate.default(false),
  for_seconds: alertFields.for_seconds.default(0),
  action: alertFields.action.default({ type: "log" }),
  enabled: alertFields.enabled.default(true),
  cooldown_seconds: alertFields.cooldown_seconds.default(60),
});
export type AlertRule = z.infer<typeof alertRuleSchema>;

/** Changes of a rule. Members that are left out keep their values. */
export const alertChangesSchema = z.strictObject(alertFields).partial().required({ name: true });
export type AlertChanges = Omit<z.infer<typeof alertChangesSchema>, "name">;

const samplingRule = z.strictObject({
  operation: z
    .string()
    .optional()
    .meta({ description: "Pattern of span names; * and ? stand for any text and any character" }),
  service: z.string().optional().meta({ description: "Pattern of service names" }),
  rate: ratio,
});

/** The `svc-observability` block of the config file. Names and meanings follow the specification. */
export const observabilityConfigSchema = z.strictObject({
  enabled: z.boolean().default(true).meta({ description: "Record spans of calls, triggers and requests" }),
  service_name: z.string().min(1).max(256).default("svc").meta({ description: "The engine's own service name" }),
  service_version: z.string().max(256).optional(),
  service_namespace: z.string().max(256).optional(),
  exporter: z
    .enum(["memory", "otlp", "both"])
    .default("memory")
    .meta({ description: "Where spans go: memory (stored for queries), otlp (sent to endpoint), or both" }),
  endpoint: httpUrl
    .default("http://localhost:4317")
    .meta({ description: "Collector that spans, logs and metrics are sent to" }),
  protocol: z
    .enum(["grpc", "http/protobuf", "http/json"])
    .optional()
    .meta({ description: "Default: grpc, and http/protobuf where the endpoint's port is 4318" }),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .meta({ description: "Sent with each export, e.g. an authorization" }),
  sampling_ratio: ratio.default(1),
  sampling: z
    .strictObject({
      default: ratio.optional(),
      rules: z.array(samplingRule).max(100).default([]),
      parent_based: z
        .boolean()
        .default(true)
        .meta({ description: "Continued traces follow the sampled flag of their traceparent" }),
      rate_limit: z.strictObject({ max_traces_per_second: z.number().positive() }).optional(),
      keep_errors: z
        .boolean()
        .default(true)
        .meta({ description: "Keep every trace with an error, even if it is not sampled" }),
      keep_slow_ms: z.number().min(0).default(1_000).meta({
        description:
          "Keep every trace with a span of at least this duration in milliseconds, even if it is not sampled; 0: off",
      }),
    })
    .optional(),
  memory_max_spans: z.number().int().min(10).max(1_000_000).default(10_000),
  memory_max_bytes: z
    .number()
    .int()
    .min(65_536)
    .default(16 * 1024 * 1024)
    .meta({ description: "Maximum size of the spans in memory, in bytes; the oldest are evicted first" }),
  payload_previews: z
    .boolean()
    .default(true)
    .meta({ description: "Store the beginning of inputs and outputs of calls; secrets are masked" }),
  payload_preview_bytes: z.number().int().min(0).max(65_536).default(2_048),
  redact_keys: z
    .array(z.string().min(1).max(128))
    .max(1_000)
    .default([...SECRET_NAMES])
    .meta({
      description:
        "Members and attributes whose names contain one of these (case-insensitive) show *** instead of their value",
    }),
  invocations_max_count: z.number().int().min(0).max(100_000).default(1_000),
  invocations_max_bytes: z
    .number()
    .int()
    .min(0)
    .default(8 * 1024 * 1024),
  trace_storage: z
    .strictObject({
      enabled: z.boolean().default(true),
      directory: z
        .string()
        .optional()
        .meta({ description: "Default: observability in the data folder. Relative to the config file" }),
      max_disk_bytes: z
        .number()
        .int()
        .min(1024 * 1024)
        .default(1024 * 1024 * 1024)
        .meta({
          description:
            "Maximum size on disk; spans take up to 65 % of it, logs 25 %. A span takes about 1.6 KB. The oldest are evicted first; failed and slow traces stay longest",
        }),
      retention_seconds: z
        .number()
        .int()
        .min(60)
        .default(30 * 86_400)
        .meta({ description: "Maximum age of spans and logs on disk" }),
    })
    .optional()
    .meta({
      description:
        "Stores all spans and logs on disk. Without this block, spans and logs are in memory, and spans are copied to disk as well: up to 256 MiB in all, and under load a part of the traces. `enabled: false`: in memory only",
    }),
  metrics_enabled: z.boolean().default(true),
  metrics_exporter: z.enum(["memory", "otlp", "both"]).optional().meta({ description: "Default: as exporter" }),
  metrics_retention_seconds: z.number().int().min(60).default(3_600),
  metrics_max_count: z
    .number()
    .int()
    .min(100)
    .max(1_000_000)
    .default(10_000)
    .meta({ description: "Maximum number of metric series; further ones are dropped and counted" }),
  metrics_interval_seconds: z
    .number()
    .int()
    .min(5)
    .max(3_600)
    .default(60)
    .meta({ description: "How often metrics are exported" }),
  logs_enabled: z.boolean().optional().meta({ description: "Default: as enabled" }),
  logs_exporter: z.enum(["memory", "otlp", "both"]).optional().meta({ description: "Default: as exporter" }),
  logs_max_count: z.number().int().min(10).max(1_000_000).default(10_000),
  logs_max_bytes: z
    .number()
    .int()
    .min(65_536)
    .default(16 * 1024 * 1024),
  logs_retention_seconds: z
    .number()
    .int()
    .min(1)
    .optional()
    .meta({ description: "Default: unlimited in memory; on disk retention_seconds of trace_storage" }),
  logs_batch_size: z.number().int().min(1).max(10_000).default(100),
  logs_flush_interval_ms: z.number().int().min(100).max(3_600_000).default(5_000),
  logs_sampling_ratio: ratio.default(1),
  logs_console_output: z
    .boolean()
    .default(true)
    .meta({ description: "Write entries of engine::log::* and of workers to the engine's own output" }),
  alerts: z
    .array(alertRuleSchema)
    .max(1_000)
    .default([])
    .superRefine((rules, context) => {
      const names = new Set<string>();
      for (const [index, { name }] of rules.entries()) {
        if (names.has(name))
          context.addIssue({ code: "custom", path: [index, "name"], message: `another alert is named ${name}` });
        names.add(name);
      }
    }),
  otlp_receiver: z
    .strictObject({
      enabled: z.boolean().default(true),
      host: z.string().default("127.0.0.1"),
      port: z.number().int().min(0).max(65_535).default(4318),
    })
    .optional()
    .meta({ description: "Receives OTLP over HTTP from other programs; off without this block" }),
  prometheus: z
    .strictObject({
      enabled: z.boolean().default(true),
      host: z.string().default("127.0.0.1"),
      port: z.number().int().min(0).max(65_535).default(9464),
    })
    .optional()
    .meta({ description: "Serves metrics as Prometheus text at /metrics; off without this block" }),
});
export type ObservabilityConfig = z.infer<typeof observabilityConfigSchema>;

export function isExported(config: ObservabilityConfig, signal: Signal): boolean {
  const {
    exporter,
    enabled,
    logs_exporter = exporter,
    logs_enabled = enabled,
    metrics_exporter = exporter,
    metrics_enabled,
  } = config;
  if (signal === "traces") return enabled && exporter !== "memory";
  return signal === "logs"
    ? logs_enabled && logs_exporter !== "memory"
    : metrics_enabled && metrics_exporter !== "memory";
}

/** Shares of `max_disk_bytes` for the two database files. The rest is for the write-ahead logs of SQLite. */
export const SPANS_SHARE = 0.65;
export const LOGS_SHARE = 0.25;

type Storage = NonNullable<ObservabilityConfig["trace_storage"]>;

/**
 * Returns the folder of the database files. A relative `directory` is resolved against the folder of the config file,
 * which also contains `.svc/data`.
 */
export function storageFolder({ directory }: Pick<Storage, "directory">, dataDir: string): string {
  if (directory === undefined) return join(dataDir, "observability");
  return isAbsolute(directory) ? directory : resolve(dirname(dirname(dataDir)), directory);
}
