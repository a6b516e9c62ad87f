import { describe, expect, it } from "vitest";
import { stateConfigSchema } from "./config.ts";

const file = { name: "file_based", config: { file_path: "state.db", cache_bytes: 64 * 1024 * 1024 } };
const memory = { name: "in_memory", config: { max_bytes: 512 * 1024 * 1024 } };

describe("the config of svc-state", () => {
  it("keeps items in a file unless it says otherwise", () => {
    expect(stateConfigSchema.parse({})).toEqual({ adapter: file, max_value_bytes: 8 * 1024 * 1024 });
    expect(stateConfigSchema.parse({ adapter: { name: "in_memory" } }).adapter).toEqual(memory);
  });

  it("understands the older shape", () => {
    expect(stateConfigSchema.parse({ adapter: { name: "kv" } }).adapter).toEqual(file);
    expect(stateConfigSchema.parse({ adapter: { name: "kv", config: { store_method: "in_memory", file_path: "x" } } }).adapter).toEqual(memory);
    const older = { store_method: "file_based", file_path: "./data/state_store.db", save_interval_ms: 5000 };
    expect(stateConfigSchema.parse({ adapter: { name: "kv", config: older } }).adapter).toEqual({
      ...file,
      config: { ...file.config, file_path: "./data/state_store.db" },
    });
  });

  it("refuses what it does not know", () => {
    for (const wrong of [
      { store_method: "in_memory" },
      { adapter: "in_memory" },
      { adapter: { name: "rediss" } },
      { adapter: { name: "file_based", config: { file: "x" } } },
      { adapter: { name: "in_memory", config: { file_path: "x" } } },
      { max_value_bytes: 0 },
      { max_value_bytes: 16 * 1024 * 1024 },
    ]) {
      expect(stateConfigSchema.safeParse(wrong).success).toBe(false);
    }
  });
});
