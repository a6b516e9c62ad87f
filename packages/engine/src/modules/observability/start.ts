import type { ModuleContext, RunningModule } from "../../kernel/module.ts";
import type { ObservabilityConfig } from "./config.ts";
import { startLogs } from "./logs/start-logs.ts";

/** Joins the parts of the module. */
export async function startObservability(context: ModuleContext<ObservabilityConfig>): Promise<RunningModule<ObservabilityConfig>> {
  const logs = await startLogs(context, { drops: { dropped: () => {} } });
  context.telemetry.collect({
    callStarted: () => undefined,
    callRefused: () => {},
    startSpan: (span) => ({ traceparent: span.traceparent, setAttribute: () => {}, end: () => {} }),
    log: (entry) => logs.log(entry),
    ingest: () => {},
  });
  return { reconfigure: (next) => logs.reconfigure(next), stop: () => logs.stop() };
}
