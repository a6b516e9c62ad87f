import type { ModuleContext, RunningModule } from "../../kernel/module.ts";
import { provideAlerts } from "./alerts/functions.ts";
import type { ObservabilityConfig } from "./config.ts";
import { startHealth } from "./health/health.ts";

/** Joins the parts of the module. */
export async function startObservability(context: ModuleContext<ObservabilityConfig>): Promise<RunningModule<ObservabilityConfig>> {
  let { config } = context;
  const alerts = await provideAlerts(context, { value: () => null });
  const stopHealth = startHealth(context);
  return {
    async reconfigure(next) {
      // Alerts may change while everything else that is kept stays.
      if (JSON.stringify({ ...next, alerts: [] }) !== JSON.stringify({ ...config, alerts: [] })) return "restart";
      config = next;
      await alerts.reconfigure(next.alerts);
      return undefined;
    },
    async stop() {
      stopHealth();
      await alerts.stop();
    },
  };
}
