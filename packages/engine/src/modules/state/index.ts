import { defineModule } from "../../kernel/module.ts";
import { type StateConfig, stateConfigSchema } from "./config.ts";

/** The module svc-state: values by scope and key, durable by default. See README.md. */
export const state = defineModule<StateConfig>({
  name: "svc-state",
  summary: "Values by scope and key that survive restarts",
  config: stateConfigSchema,
  // Loaded on demand, so that an engine without the module does not hold its code in memory.
  start: async (context) => (await import("./start.ts")).startState(context),
});
