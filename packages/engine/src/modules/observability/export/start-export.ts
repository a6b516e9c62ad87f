import type { ModuleContext } from "../../../kernel/module.ts";
import type { ObservabilityConfig } from "../config.ts";
import { isExported } from "../config.ts";
import type { LogRecord, LogSink, SpanRecord, SpanSink } from "../model.ts";
import { exportHealth } from "./export-health.ts";
import type { ExportState } from "./export-queue.ts";
import type { Exporter, ExporterParts } from "./exporter.ts";

export type ExportParts = Omit<ExporterParts, "config" | "clock" | "log">;

/** What goes to a collector, where the config names one. Takes spans that are to be kept. */
export interface Export extends SpanSink, LogSink {
  states(): readonly ExportState[];
  reconfigure(next: ObservabilityConfig): Promise<void>;
  stop(): Promise<void>;
}

/** Loads the exporter only where something is to be sent. */
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
    exporter = isNeeded ? new (await import("./exporter.ts")).Exporter({ ...parts, config, clock: context.clock, log: context.log }) : undefined;
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

/** Equal for configs that are sent by alike. */
function settingsOf(config: ObservabilityConfig): string {
  const { endpoint, protocol, headers, metrics_interval_seconds, logs_batch_size, logs_flush_interval_ms } = config;
  const exported = (["traces", "logs", "metrics"] as const).map((signal) => isExported(config, signal));
  return JSON.stringify([exported, endpoint, protocol, headers, metrics_interval_seconds, logs_batch_size, logs_flush_interval_ms]);
}
