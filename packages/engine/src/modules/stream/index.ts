import { defineModule } from "../../kernel/module.ts";
import { type StreamConfig, streamConfigSchema } from "./config.ts";

/** The module svc-stream: items by stream, group and id, whose changes are published to subscribers. See README.md. */
export const stream = defineModule<StreamConfig>({
  name: "svc-stream",
  summary: "Streams of items with live updates for subscribers",
  config: streamConfigSchema,
  // Loaded on demand, so that an engine without the module does not hold its code in memory.
  start: async (context) => (await import("./start.ts")).startStream(context),
});
