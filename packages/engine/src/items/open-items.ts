import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type { OpenStore } from "../kernel/store-contract.ts";
import type { AdapterConfig } from "./adapter-config.ts";
import { openFileItems } from "./adapters/file.ts";
import { memoryItems } from "./adapters/memory.ts";
import type { ItemStore } from "./item-store.ts";

export interface OpenItemsOptions {
  /** Absolute path of the data folder. This process must hold its lock. */
  readonly dataDir: string;
  readonly log: Logger;
  readonly clock: Clock;
  readonly openStore: OpenStore;
}

/**
 * Opens the configured adapter. If it cannot be used, rejects with an Error with a user message. No other adapter is
 * tried.
 */
export async function openItems(
  adapter: AdapterConfig,
  { dataDir, log, clock, openStore }: OpenItemsOptions,
): Promise<ItemStore> {
  switch (adapter.name) {
    case "in_memory":
      return memoryItems({ maxBytes: adapter.config.max_bytes, clock });
    case "file_based": {
      const { file_path: filePath, cache_bytes: cacheBytes, durability } = adapter.config;
      return openFileItems({ dataDir, filePath, cacheBytes, durability, log, clock, openStore });
    }
    case "cluster": {
      const { log: shared } = adapter.config;
      const filePath = `cluster/${shared}.db`;
      return openFileItems({ dataDir, filePath, cacheBytes: 0, shared, log, clock, openStore });
    }
    case "redis": {
      const { redis_url: url, key_prefix: keyPrefix } = adapter.config;
      // Loaded only if it is needed, because the Redis client costs start-up time and memory.
      const { openRedisItems } = await import("./adapters/redis.ts");
      return openRedisItems({ url, keyPrefix, dataDir, log, clock });
    }
  }
}
