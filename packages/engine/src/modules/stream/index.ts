import { defineModule } from "../../kernel/module.ts";
import { type StreamConfig, streamConfigSchema } from "./config.ts";

/** Items by stream, group and id whose changes reach everyone who has joined. See README.md. */
export const stream = defineModule<StreamConfig>({
  name: "svc-stream",
  summary: "Streams of items, live for everyone who has joined",
  config: streamConfigSchema,
  // Loaded by who uses it: an engine without the module does without its code in memory.
  start: async (context) => (await import("./start.ts")).startStream(context),
});
