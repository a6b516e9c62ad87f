import type { ModuleContext, RunningModule } from "../../kernel/module.ts";
import { storeHealth } from "../../store/store-health.ts";
import type { CronConfig } from "./config.ts";
import { CronJobs } from "./cron-jobs.ts";
import { provideFunctions } from "./functions.ts";
import { CronStore } from "./store/cron-store.ts";

/** Opens the store and starts the module. */
export async function startCron(context: ModuleContext<CronConfig>): Promise<RunningModule<CronConfig>> {
  const { config, dataDir, openStore, log } = context;
  const { name } = config.adapter ?? {};
  if (name === "kv" || name === "redis") {
    const message =
      "the adapter of svc-cron is ignored: schedules are stored in the data folder; remove it from the config";
    log.warn(message, { adapter: name });
  }
  const store = await CronStore.open({ dataDir, openStore, isShared: name === "cluster" });
  const jobs = new CronJobs(context, store);
  context.reportHealth("store", storeHealth(store));
  provideFunctions(context, jobs);
  jobs.start();
  return {
    async stop() {
      await jobs.stop();
      await store.close();
    },
  };
}
