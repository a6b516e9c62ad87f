import { defineModule } from "../../kernel/module.ts";
import { type CronConfig, cronConfigSchema } from "./config.ts";

/** Functions that run at set times. See README.md. */
export const cron = defineModule<CronConfig>({
  name: "svc-cron",
  summary: "Runs functions at the times of cron expressions",
  config: cronConfigSchema,
  // Loaded by who uses it: an engine without the module does without its code in memory.
  start: async (context) => (await import("./start.ts")).startCron(context),
});
