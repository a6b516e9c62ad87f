import type { ComponentHealth, ModuleContext } from "@svc-runtime/engine/module";
import { isExported, type ObservabilityConfig } from "../config.ts";
import type { LogRecord, LogSink, SpanRecord, SpanSink } from "../telemetry-records.ts";
import type { ExportState } from "./export-queue.ts";
import type { Exporter, ExporterParts } from "./exporter.ts";

export type ExportParts = Omit<ExporterParts, "config" | "clock" | "log">;

/** Exports to a collector if the config names one. It receives only spans that are already sampled. */
export interface Export extends SpanSink, LogSink {
  states(): readonly ExportState[];
  reconfigure(next: ObservabilityConfig): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the export. Loads the exporter only if the config exports a signal. */
export async function startExport(
  context: Pick<ModuleContext<ObservabilityConfig>, "config" | "clock" | "log" | "reportHealth">,
  parts: ExportParts,
): Promise<Export> {
  let exporter: Exporter | undefined;
  let settings = "";

  async function apply(config: ObservabilityConfig): Promise<void> {
    const next = settingsOf(config);
    if (next === settings) return;
    settings = next;
    const before = exporter;
    const isNeeded = isExported(config, "traces") || isExported(config, "logs") || isExported(config, "metrics");
    exporter = isNeeded
      ? new (await import("./exporter.ts")).Exporter({ ...parts, config, clock: context.clock, log: context.log })
      : undefined;
    await before?.stop();
  }

  await apply(context.config);
  context.reportHealth("otel", () => exportHealth(exporter?.states ?? []));
  return {
    started() {},
    ended: (span: SpanRecord) => exporter?.ended(span),
    add: (log: LogRecord) => exporter?.add(log),
    states: () => exporter?.states ?? [],
    reconfigure: apply,
    stop: async () => exporter?.stop(),
  };
}

/** Returns a text that is equal for configs that need the same exporter. */
function settingsOf(config: ObservabilityConfig): string {
  const { endpoint, protocol, headers, metrics_interval_seconds, logs_batch_size, logs_flush_interval_ms } = config;
  const exported = (["traces", "logs", "metrics"] as const).map((signal) => isExported(config, signal));
  return JSON.stringify([
    exported,
    endpoint,
    protocol,
    headers,
    metrics_interval_seconds,
    logs_batch_size,
    logs_flush_interval_ms,
  ]);
}

/** Failures up to this duration, in milliseconds, do not change the health, because the collector may be restarting. */
const TOLERATED_MS = 30_000;

/**
 * Returns the health of the component `otel`. The engine works without a collector, so the status is never worse than
 * degraded.
 */
function exportHealth(states: readonly ExportState[]): ComponentHealth | undefined {
  const failing = states.filter(({ failing_for_ms }) => (failing_for_ms ?? 0) > TOLERATED_MS);
  if (failing.length === 0) return undefined;
  const reasons = failing.map(
    ({ signal, last_error, failing_for_ms }) =>
      `${signal} for ${Math.round((failing_for_ms ?? 0) / 1_000)} s (${last_error})`,
  );
  return {
    status: "degraded",
    details: `the collector does not accept: ${reasons.join(", ")}; check \`endpoint\` and \`protocol\` of svc-observability, and that the collector runs`,
  };
}
