import type { Signal } from "../../../kernel/telemetry-contract.ts";
import type { ObservabilityConfig } from "../config.ts";

/** True when the signal goes to a collector. */
export function isExported(config: ObservabilityConfig, signal: Signal): boolean {
  const { exporter, enabled, logs_exporter = exporter, logs_enabled = enabled, metrics_exporter = exporter, metrics_enabled } = config;
  if (signal === "traces") return enabled && exporter !== "memory";
  return signal === "logs" ? logs_enabled && logs_exporter !== "memory" : metrics_enabled && metrics_exporter !== "memory";
}
