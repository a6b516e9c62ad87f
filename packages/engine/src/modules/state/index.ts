import { openItems } from "../../items/open-items.ts";
import { defineModule } from "../../kernel/module.ts";
import { type StateConfig, stateConfigSchema } from "./config.ts";
import { provideStateFunctions } from "./functions.ts";
import { State } from "./state.ts";

/** Values by scope and key, durable by default. See README.md. */
export const state = defineModule<StateConfig>({
  name: "svc-state",
  summary: "Values by scope and key that survive restarts",
  config: stateConfigSchema,
  async start(context) {
    const adapter = await openItems(context.config.adapter, context);
    context.reportReadiness(() => adapter.problem());
    provideStateFunctions(context, new State({ adapter, clock: context.clock, maxValueBytes: context.config.max_value_bytes }));
    return { stop: () => adapter.close() };
  },
});
