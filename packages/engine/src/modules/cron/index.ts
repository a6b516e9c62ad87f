import { defineModule } from "../../kernel/module.ts";
import { type CronConfig, cronConfigSchema } from "./config.ts";

/** Runs functions at the times of cron expressions. See README.md. */
export const cron = defineModule<CronConfig>({
  name: "svc-cron",
  summary: "Runs functions at the times of cron expressions",
  config: cronConfigSchema,
  // Loaded on demand, so that an engine without this module does not hold its code in memory.
  start: async (context) => (await import("./start.ts")).startCron(context),
});
