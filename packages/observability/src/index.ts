import { defineModule } from "@svc-runtime/engine/module";
import { type ObservabilityConfig, observabilityConfigSchema } from "./config.ts";

export const OBSERVABILITY = "svc-observability";

/** Spans, logs, metrics, alerts and health of the running system. Always loaded. See README.md. */
export default defineModule<ObservabilityConfig>({
  name: OBSERVABILITY,
  summary: "Traces, logs, metrics, alerts and health",
  config: observabilityConfigSchema,
  start: async (context) => (await import("./start.ts")).startObservability(context),
});
