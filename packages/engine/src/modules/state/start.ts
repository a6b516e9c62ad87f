import { CallError } from "@svc-runtime/protocol";
import { ExpirySweep } from "../../items/expiry-sweep.ts";
import type { ExpiredItem, ItemStore } from "../../items/item-store.ts";
import { openItems } from "../../items/open-items.ts";
import type { ModuleContext, RunningModule } from "../../kernel/module.ts";
import { storeHealth } from "../../store/store-health.ts";
import type { StateConfig } from "./config.ts";
import { provideDeleteMany } from "./functions/delete-many.ts";
import { provideReadFunctions } from "./functions/read-functions.ts";
import { provideTransferFunctions } from "./functions/transfer-functions.ts";
import { provideWriteFunctions } from "./functions/write-functions.ts";
import { Reads } from "./reads.ts";
import { Exports } from "./transfer/exports.ts";
import { StateTriggers } from "./triggers/state-triggers.ts";
import { Writes } from "./writes.ts";

/** Opens the store and starts the module. */
export async function startState(context: ModuleContext<StateConfig>): Promise<RunningModule<StateConfig>> {
  const { config, dataDir, log, clock, openStore } = context;
  const store = await openItems(config.adapter, { dataDir, log, clock, openStore });
  try {
    return await run(context, store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function run(context: ModuleContext<StateConfig>, store: ItemStore): Promise<RunningModule<StateConfig>> {
  const { config, log, clock } = context;
  const limits = { maxValueBytes: config.max_value_bytes };
  const triggers = new StateTriggers(context, store);
  const writes = new Writes({ store, clock, listener: triggers, onExpiry: (expiresAt) => sweep.note(expiresAt) });
  const sweep = new ExpirySweep({ store, clock, log, remove: (item) => removeExpired(writes, item) });
  const exports = new Exports({ store, clock, log });
  const services = { store, reads: new Reads(store), writes, clock, limits };

  context.reportHealth(config.adapter.name === "redis" ? "adapters" : "store", storeHealth(store));
  // Start the triggers before the functions are provided, so that no change is missed.
  await triggers.start();
  provideReadFunctions(context, services);
  provideWriteFunctions(context, services);
  provideDeleteMany(context, services);
  provideTransferFunctions(context, {
    ...services,
    exports,
    snapshotEnding: ["file_based", "cluster"].includes(config.adapter.name) ? "db" : "ndjson",
  });
  try {
    await sweep.start();
  } catch (error) {
    await triggers.stop();
    throw error;
  }
  return {
    reconfigure(next) {
      if (JSON.stringify(next.adapter) !== JSON.stringify(config.adapter)) return "restart";
      limits.maxValueBytes = next.max_value_bytes;
      return undefined;
    },
    async stop() {
      await exports.stop();
      await sweep.stop();
      await triggers.stop();
      await store.close();
    },
  };
}

/** Deletes an expired item. Ignores a conflict, because it means that the item was written again meanwhile. */
async function removeExpired(writes: Writes, { scope, key, version }: ExpiredItem): Promise<void> {
  try {
    await writes.delete({ scope, key, ifVersion: version }, {});
  } catch (thrown) {
    if (!CallError.is(thrown) || thrown.code !== "state_conflict") throw thrown;
  }
}
