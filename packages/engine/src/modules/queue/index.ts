import { defineModule } from "../../kernel/module.ts";
import { type QueueConfig, queueConfigSchema } from "./config.ts";
import { NAME } from "./name.ts";

/** Durable jobs: queues, retries, dead letters, durable topics. See README.md. */
export const queue = defineModule<QueueConfig>({
  name: NAME,
  summary: "Jobs that survive restarts: queues with retries and dead letters, durable topics",
  config: queueConfigSchema,
  // Loaded by who uses it: an engine without the module does without its code in memory.
  start: async (context) => (await import("./start.ts")).startQueue(context),
});
