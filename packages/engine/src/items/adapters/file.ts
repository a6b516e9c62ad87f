import { resolve } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { OpenStore } from "../../kernel/store-contract.ts";
import { claimFile } from "../../store/file-claim.ts";
import type { ItemStore } from "../item-store.ts";
import { FileItems } from "./file-items.ts";
import type { ItemProcedures } from "./file-thread/procedures.ts";

export interface FileItemsOptions {
  /** Absolute path of the data folder. This process must hold its lock. */
  readonly dataDir: string;
  /** Database file, relative to the data folder. */
  readonly filePath: string;
  /** Size of the read cache, in bytes. */
  readonly cacheBytes: number;
  /** `relaxed`: a write resolves before it is synced. It is synced within a second. Default `durable`. */
  readonly durability?: "durable" | "relaxed";
  /** Name of the shared log of which the file is a replica. Default: none, only this engine uses the file. */
  readonly shared?: string;
  readonly log: Logger;
  /** Clock for expiry and timeouts. */
  readonly clock: Clock;
  readonly openStore: OpenStore;
}

/** Opens an item store in a SQLite file. Rejects with an Error that says why the file cannot be used. */
export async function openFileItems(options: FileItemsOptions): Promise<ItemStore> {
  const { dataDir, log, clock, openStore, durability = "durable", cacheBytes, shared } = options;
  const file = resolve(dataDir, options.filePath);
  const release = claimFile(file, { dataDir, what: "items" });
  try {
    const procedures = new URL("./file-thread/procedures.js", import.meta.url);
    const store = await openStore<ItemProcedures>({ file, procedures, durability, shared, log, clock });
    // Not awaited: later requests run after this one anyway, and if it fails because the disk is full, reads must still
    // work.
    store
      .call("foldEmptyScopes", null)
      .catch((error: unknown) => log.warn("failed to fold empty scopes", { file, error }));
    const onError = (error: unknown): void => log.warn("failed to reassign watchers of items", { file, error });
    return new FileItems({ file, store, durability, cacheBytes, clock, onClosed: release, onError });
  } catch (error) {
    release();
    throw error;
  }
}
