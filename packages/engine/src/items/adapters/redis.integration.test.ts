import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { silentLogger } from "../../kernel/logger.ts";
import { itemStoreSuite } from "../testing/item-store-suite.ts";
import { type RedisServer, startRedisServer } from "../testing/redis-server.ts";
import { openRedisItems } from "./redis.ts";

const dataDir = mkdtempSync(join(tmpdir(), "svc-redis-items-"));
let server: RedisServer;
let stores = 0;

beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(async () => {
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

itemStoreSuite("redis", (clock) => {
  stores += 1;
  return openRedisItems({ url: server.url, keyPrefix: `suite-${stores}:`, dataDir, log: silentLogger, clock });
});
