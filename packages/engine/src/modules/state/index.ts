import { openFileItems } from "../../items/adapters/file.ts";
import { memoryItems } from "../../items/adapters/memory.ts";
import type { ItemStore } from "../../items/item-store.ts";
import { defineModule, type ModuleContext } from "../../kernel/module.ts";
import { type StateConfig, stateConfigSchema } from "./config.ts";
import { provideStateFunctions } from "./functions.ts";
import { State } from "./state.ts";

/** Values by scope and key, durable by default. See README.md. */
export const state = defineModule<StateConfig>({
  name: "svc-state",
  summary: "Values by scope and key that survive restarts",
  config: stateConfigSchema,
  async start(context) {
    const adapter = await openAdapter(context);
    context.reportReadiness(() => adapter.problem());
    provideStateFunctions(context, new State({ adapter, clock: context.clock, maxValueBytes: context.config.max_value_bytes }));
    return { stop: () => adapter.close() };
  },
});

async function openAdapter({ config, dataDir, log, clock }: ModuleContext<StateConfig>): Promise<ItemStore> {
  const { adapter } = config;
  if (adapter.name === "in_memory") return memoryItems({ maxBytes: adapter.config.max_bytes, clock });
  return openFileItems({ dataDir, filePath: adapter.config.file_path, cacheBytes: adapter.config.cache_bytes, log, clock });
}
