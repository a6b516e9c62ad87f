import { defineModule } from "../../kernel/module.ts";
import { type StateConfig, stateConfigSchema } from "./config.ts";

/** Values by scope and key, durable by default. See README.md. */
export const state = defineModule<StateConfig>({
  name: "svc-state",
  summary: "Values by scope and key that survive restarts",
  config: stateConfigSchema,
  // Loaded by who uses it: an engine without the module does without its code in memory.
  start: async (context) => (await import("./start.ts")).startState(context),
});
