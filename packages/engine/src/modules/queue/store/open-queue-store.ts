import { resolve } from "node:path";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import { claimFile } from "../../../store/file-claim.ts";
import { openStore } from "../../../store/store.ts";
import { openMemoryStore } from "./memory-store.ts";
import type { JobProcedures, QueueStore } from "./queue-store.ts";

export type QueueAdapter =
  | { readonly name: "in_memory" }
  | { readonly name: "file_based"; readonly config: { readonly file_path: string } };

/** Opens the store. Rejects with an Error that explains why the file cannot be used. */
export async function openQueueStore(
  adapter: QueueAdapter,
  { dataDir, log, clock }: { readonly dataDir: string; readonly log: Logger; readonly clock: Clock },
): Promise<QueueStore> {
  if (adapter.name === "in_memory") return openMemoryStore();
  const file = resolve(dataDir, adapter.config.file_path);
  const release = claimFile(file, { dataDir, what: "jobs" });
  try {
    const store = await openStore<JobProcedures>({
      file,
      procedures: new URL("./procedures.js", import.meta.url),
      log,
      clock,
    });
    return {
      call: (name, input, options) => store.call(name, input, options),
      problem: () => store.problem(),
      damage: () => store.damage(),
      async close() {
        await store.close();
        release();
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}
