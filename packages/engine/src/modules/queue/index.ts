import { defineModule } from "../../kernel/module.ts";
import { NAME, type QueueConfig, queueConfigSchema } from "./config.ts";

/** Durable jobs: queues, retries, dead letters, durable topics. See README.md. */
export const queue = defineModule<QueueConfig>({
  name: NAME,
  summary: "Jobs that survive restarts: queues with retries and dead letters, durable topics",
  config: queueConfigSchema,
  // Loaded on demand, so that an engine without this module does not hold its code in memory.
  start: async (context) => (await import("./start.ts")).startQueue(context),
});
