import { defineModule, type ModuleContext, type RunningModule } from "../../kernel/module.ts";
import { type QueueConfig, queueConfigSchema } from "./config.ts";
import { startQueueCore } from "./core.ts";
import { openQueueStore } from "./store/open-queue-store.ts";
import type { QueueStore } from "./store/queue-store.ts";

/** Durable jobs: queues, retries, dead letters, durable topics. See README.md. */
export const queue = defineModule<QueueConfig>({
  name: "svc-queue",
  summary: "Jobs that survive restarts: queues with retries and dead letters, durable topics",
  config: queueConfigSchema,
  async start(context) {
    const { config, dataDir, log, clock } = context;
    const store = await openQueueStore(config.adapter, { dataDir, log, clock });
    try {
      return await run(context, store);
    } catch (error) {
      await store.close();
      throw error;
    }
  },
});

async function run(context: ModuleContext<QueueConfig>, store: QueueStore): Promise<RunningModule<QueueConfig>> {
  context.reportReadiness(() => store.problem());
  const core = await startQueueCore(context, store);
  for (const [name, settings] of context.config.queues) core.declare(name, settings);
  return {
    stop: () => core.stop(),
  };
}
