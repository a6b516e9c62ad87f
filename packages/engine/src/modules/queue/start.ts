import type { Directory } from "../../kernel/directory.ts";
import type { ModuleContext, RunningModule } from "../../kernel/module.ts";
import { storeHealth } from "../../store/store-health.ts";
import { NAME, type QueueConfig } from "./config.ts";
import { DeclaredQueues } from "./declared-queues.ts";
import { provideEnqueueFunctions } from "./functions/enqueue.ts";
import { provideInspectFunctions } from "./functions/inspect.ts";
import { provideManageFunctions } from "./functions/manage.ts";
import { providePublishFunctions } from "./functions/publish.ts";
import { providePublishedInspectFunctions } from "./functions/published-inspect.ts";
import { providePublishedManageFunctions } from "./functions/published-manage.ts";
import { LagWatch } from "./lag-watch.ts";
import { queueMeasure } from "./measurements.ts";
import { startQueueCore } from "./start-queue-core.ts";
import { openQueueStore } from "./store/open-queue-store.ts";
import type { QueueStore } from "./store/queue-store.ts";
import { Topics } from "./topics/topics.ts";
import { QueueTriggers } from "./triggers/queue-triggers.ts";

/** Opens the store and starts the module. */
export async function startQueue(context: ModuleContext<QueueConfig>): Promise<RunningModule<QueueConfig>> {
  const { config, dataDir, openStore, directory } = context;
  if (runsAlready(directory))
    throw new Error("svc-queue is configured twice; list it once, with all queues under its queue_configs");
  const store = await openQueueStore(config.adapter, { dataDir, openStore });
  try {
    return await run(context, store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Returns whether the module already runs. Two modules on one store would treat each other's jobs as jobs of an earlier
 * run.
 */
function runsAlready(directory: Directory): boolean {
  return directory
    .workers()
    .some(({ name, status }) => status === "available" && (name === NAME || name.startsWith(`${NAME}#`)));
}

async function run(context: ModuleContext<QueueConfig>, store: QueueStore): Promise<RunningModule<QueueConfig>> {
  const { config, log } = context;
  context.reportHealth("store", storeHealth(store));
  const core = await startQueueCore(context, store);
  context.telemetry.provideMeasurements(await queueMeasure(core));
  const queues = new DeclaredQueues(core);
  queues.apply(config.queues);
  const topics = new Topics({ core, log, base: config.base });
  await topics.start();
  const triggers = new QueueTriggers({ context, core, topics });
  triggers.start();
  const lag = new LagWatch({ core, log });
  lag.start();
  context.reportHealth("queues", () => lag.health());
  provideEnqueueFunctions(context, core);
  providePublishFunctions(context, topics);
  provideInspectFunctions(context, core);
  provideManageFunctions(context, core);
  providePublishedInspectFunctions(context, core, topics);
  providePublishedManageFunctions(context, core, topics);
  return {
    reconfigure(next) {
      if (JSON.stringify(next.adapter) !== JSON.stringify(config.adapter)) return "restart";
      queues.apply(next.queues);
      topics.rebase(next.base);
      triggers.queuesChanged();
      return undefined;
    },
    async stop() {
      lag.stop();
      triggers.stop();
      topics.stop();
      await core.stop();
    },
  };
}
