import { defineModule } from "../../kernel/module.ts";
import { type EventConfig, eventConfigSchema, NAME } from "./config.ts";

/** Delivers events by topic to subscribed functions. See README.md. */
export const event = defineModule<EventConfig>({
  name: NAME,
  summary: "Delivers events by topic to all subscribed functions",
  config: eventConfigSchema,
  // Loaded on demand, so that an engine without this module does not hold its code in memory.
  start: async (context) => (await import("./start.ts")).startEvents(context),
});
