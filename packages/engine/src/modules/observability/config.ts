import { SECRET_NAMES } from "@svc/protocol";
import { z } from "zod";
import type { Signal } from "../../kernel/telemetry-contract.ts";

const ratio = z.number().min(0).max(1);
const httpUrl = z.url({ protocol: /^https?$/ });

const alertAction = z.discriminatedUnion("type", [
  z.object({ type: z.literal("log") }),
  z.object({ type: z.literal("webhook"), url: httpUrl }),
  z.object({ type: z.literal("function"), path: z.string().min(1).max(256).meta({ description: "Id of the function" }) }),
]);

/** Members of an alert rule, without what they are when left out. */
const alertFields = {
  name: z
    .string()
    .min(1)
    .max(256)
    .regex(/^\P{Cc}+$/u, { message: "must hold no control characters" }),
  metric: z
    .string()
    .min(1)
    .max(256)
    .meta({ description: "A name that engine::metrics::list knows, e.g. svc.calls; counters count as their increase in the window" }),
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
  cooldown_seconds: z.number().int().min(0).max(86_400).meta({ description: "Least time between two notices that the alert fires" }),
};

/** One alert rule, in the config and at run time. */
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

/** What changes of a rule: members that are left out stay. */
export const alertChangesSchema = z.strictObject(alertFields).partial().required({ name: true });
export type AlertChanges = Omit<z.infer<typeof alertChangesSchema>, "name">;

const samplingRule = z.strictObject({
  operation: z.string().optional().meta({ description: "Pattern of span names; * and ? stand for any text and any character" }),
  service: z.string().optional().meta({ description: "Pattern of service names" }),
  rate: ratio,
});

/** Block `svc-observability` of the config file. Names and meaning as in the reference; what is ours besides says so. */
export const observabilityConfigSchema = z.strictObject({
  enabled: z.boolean().default(true).meta({ description: "Record spans of calls, triggers and requests" }),
  service_name: z.string().min(1).max(256).default("svc").meta({ description: "The engine's own service name" }),
  service_version: z.string().max(256).optional(),
  service_namespace: z.string().max(256).optional(),
  exporter: z.enum(["memory", "otlp", "both"]).default("memory").meta({ description: "Where spans go: kept for queries, sent to endpoint, or both" }),
  endpoint: httpUrl.default("http://localhost:4317").meta({ description: "Collector that spans, logs and metrics are sent to" }),
  protocol: z
    .enum(["grpc", "http/protobuf", "http/json"])
    .optional()
    .meta({ description: "Default: grpc, and http/protobuf where the endpoint's port is 4318" }),
  headers: z.record(z.string(), z.string()).default({}).meta({ description: "Sent with each export, e.g. an authorization" }),
  sampling_ratio: ratio.default(1),
  sampling: z
    .strictObject({
      default: ratio.optional(),
      rules: z.array(samplingRule).max(100).default([]),
      parent_based: z.boolean().default(true).meta({ description: "Who continues a trace follows the decision that its traceparent carries" }),
      rate_limit: z.strictObject({ max_traces_per_second: z.number().positive() }).optional(),
      keep_errors: z.boolean().default(true).meta({ description: "Keep every trace that has an error, sampled or not" }),
      keep_slow_ms: z.number().min(0).default(1_000).meta({ description: "Keep every trace with a span that took at least so long; 0 keeps none for that" }),
    })
    .optional(),
  memory_max_spans: z.number().int().min(10).max(1_000_000).default(10_000),
  memory_max_bytes: z
    .number()
    .int()
    .min(65_536)
    .default(16 * 1024 * 1024)
    .meta({ description: "Bytes that spans in memory may take together; the oldest go first" }),
  payload_previews: z.boolean().default(true).meta({ description: "Keep the beginning of inputs and outputs of calls, redacted" }),
  payload_preview_bytes: z.number().int().min(0).max(65_536).default(2_048),
  redact_keys: z
    .array(z.string().min(1).max(128))
    .max(1_000)
    .default([...SECRET_NAMES])
    .meta({ description: "Members and attributes whose names contain one of these, case-blind, show *** instead of their value" }),
  invocations_max_count: z.number().int().min(0).max(100_000).default(1_000),
  invocations_max_bytes: z
    .number()
    .int()
    .min(0)
    .default(8 * 1024 * 1024),
  trace_storage: z
    .strictObject({
      enabled: z.boolean().default(true),
      directory: z.string().optional().meta({ description: "Default: observability in the data folder. Relative to the config file" }),
      max_disk_bytes: z
        .number()
        .int()
        .min(1024 * 1024)
        .default(1024 * 1024 * 1024),
      retention_seconds: z
        .number()
        .int()
        .min(60)
        .default(30 * 86_400),
    })
    .optional()
    .meta({ description: "Keeps spans and logs on disk, over restarts" }),
  metrics_enabled: z.boolean().default(true),
  metrics_exporter: z.enum(["memory", "otlp", "both"]).optional().meta({ description: "Default: as exporter" }),
  metrics_retention_seconds: z.number().int().min(60).default(3_600),
  metrics_max_count: z
    .number()
    .int()
    .min(100)
    .max(1_000_000)
    .default(10_000)
    .meta({ description: "Series of metrics that are kept; further ones are dropped and counted" }),
  metrics_interval_seconds: z.number().int().min(5).max(3_600).default(60).meta({ description: "How often metrics are exported" }),
  logs_enabled: z.boolean().optional().meta({ description: "Default: as enabled" }),
  logs_exporter: z.enum(["memory", "otlp", "both"]).optional().meta({ description: "Default: as exporter" }),
  logs_max_count: z.number().int().min(10).max(1_000_000).default(10_000),
  logs_max_bytes: z
    .number()
    .int()
    .min(65_536)
    .default(16 * 1024 * 1024),
  logs_retention_seconds: z.number().int().min(1).optional().meta({ description: "Default: no limit by age in memory; on disk that of trace_storage" }),
  logs_batch_size: z.number().int().min(1).max(10_000).default(100),
  logs_flush_interval_ms: z.number().int().min(100).max(3_600_000).default(5_000),
  logs_sampling_ratio: ratio.default(1),
  logs_console_output: z.boolean().default(true).meta({ description: "Show entries of engine::log::* and of workers in the engine's own output" }),
  alerts: z
    .array(alertRuleSchema)
    .max(1_000)
    .default([])
    .superRefine((rules, context) => {
      const names = new Set<string>();
      for (const [index, { name }] of rules.entries()) {
        if (names.has(name)) context.addIssue({ code: "custom", path: [index, "name"], message: `another alert is named ${name}` });
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
    .meta({ description: "Takes OTLP over HTTP from other programs; off without this block" }),
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

/** True when the signal goes to a collector. */
export function isExported(config: ObservabilityConfig, signal: Signal): boolean {
  const { exporter, enabled, logs_exporter = exporter, logs_enabled = enabled, metrics_exporter = exporter, metrics_enabled } = config;
  if (signal === "traces") return enabled && exporter !== "memory";
  return signal === "logs" ? logs_enabled && logs_exporter !== "memory" : metrics_enabled && metrics_exporter !== "memory";
}
