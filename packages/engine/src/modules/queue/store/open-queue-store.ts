import { resolve } from "node:path";
import type { OpenStore } from "../../../kernel/store-contract.ts";
import { claimFile } from "../../../store/file-claim.ts";
import type { JobProcedures, QueueStore } from "./queue-store.ts";

export type QueueAdapter =
  | { readonly name: "in_memory" }
  | { readonly name: "cluster" }
  | { readonly name: "file_based"; readonly config: { readonly file_path: string } };

/** Name of the log in a cluster. */
const LOG = "queue";

/** Opens the store. Rejects with an Error that explains why the file cannot be used. */
export async function openQueueStore(
  adapter: QueueAdapter,
  { dataDir, openStore }: { readonly dataDir: string; readonly openStore: OpenStore },
): Promise<QueueStore> {
  const procedures = new URL("./procedures.js", import.meta.url);
  // A database in memory needs no limit of its own, because the limits of the queues bound its size.
  if (adapter.name === "in_memory") return openStore<JobProcedures>({ file: undefined, procedures });
  const shared = adapter.name === "cluster" ? LOG : undefined;
  const file = resolve(dataDir, adapter.name === "cluster" ? `cluster/${LOG}.db` : adapter.config.file_path);
  const release = claimFile(file, { dataDir, what: "jobs" });
  try {
    return await openStore<JobProcedures>({ file, procedures, shared, onClosed: release });
  } catch (error) {
    release();
    throw error;
  }
}
