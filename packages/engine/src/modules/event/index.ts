import { defineModule } from "../../kernel/module.ts";
import { type EventConfig, eventConfigSchema } from "./config.ts";
import { NAME } from "./name.ts";

/** Events by topic, for whoever listens at that moment. See README.md. */
export const event = defineModule<EventConfig>({
  name: NAME,
  summary: "Events by topic, for every function that listens",
  config: eventConfigSchema,
  // Loaded by who uses it: an engine without the module does without its code in memory.
  start: async (context) => (await import("./start.ts")).startEvents(context),
});
