import { describe, expect, it } from "vitest";
import { adapterConfigSchema } from "./adapter-config.ts";

const schema = adapterConfigSchema({ file: "state.db" });
const file = {
  name: "file_based",
  config: { file_path: "state.db", cache_bytes: 64 * 1024 * 1024, durability: "durable" },
};
const memory = { name: "in_memory", config: { max_bytes: 512 * 1024 * 1024 } };

describe("the config of an adapter of items", () => {
  it("keeps items in a file unless it says otherwise", () => {
    expect(schema.parse(undefined)).toEqual(file);
    expect(schema.parse({ name: "in_memory" })).toEqual(memory);
    expect(schema.parse({ name: "file_based", config: { durability: "relaxed" } })).toEqual({
      ...file,
      config: { ...file.config, durability: "relaxed" },
    });
  });

  it("understands the older shape", () => {
    expect(schema.parse({ name: "kv" })).toEqual(file);
    expect(schema.parse({ name: "kv", config: { store_method: "in_memory", file_path: "x" } })).toEqual(memory);
    const older = { store_method: "file_based", file_path: "./data/state_store.db", save_interval_ms: 5000 };
    expect(schema.parse({ name: "kv", config: older })).toEqual({
      ...file,
      config: { ...file.config, file_path: "./data/state_store.db" },
    });
  });

  it("keeps the items of each module apart in a Redis", () => {
    expect(schema.parse({ name: "redis" })).toEqual({
      name: "redis",
      config: { redis_url: "redis://localhost:6379", key_prefix: "svc:state:" },
    });
    const config = { redis_url: "rediss://user:password@cache.example:6380/2", key_prefix: "" };
    expect(adapterConfigSchema({ file: "streams.db" }).parse({ name: "redis", config })).toEqual({
      name: "redis",
      config: { ...config, key_prefix: "streams:" },
    });
  });

  it("refuses what it does not know", () => {
    for (const wrong of [
      "in_memory",
      { name: "rediss" },
      { name: "file_based", config: { file: "x" } },
      { name: "file_based", config: { durability: "fast" } },
      { name: "in_memory", config: { file_path: "x" } },
      { name: "redis", config: { redis_url: "http://localhost:6379" } },
      { name: "redis", config: { file_path: "x" } },
      { name: "in_memory", config: { durability: "durable" } },
    ]) {
      expect(schema.safeParse(wrong).success).toBe(false);
    }
  });
});
