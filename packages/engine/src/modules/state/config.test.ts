import { describe, expect, it } from "vitest";
import { stateConfigSchema } from "./config.ts";

describe("the config of svc-state", () => {
  it("keeps items in state.db unless it says otherwise", () => {
    expect(stateConfigSchema.parse({})).toMatchObject({
      adapter: { name: "file_based", config: { file_path: "state.db" } },
      max_value_bytes: 8 * 1024 * 1024,
    });
  });

  it("refuses what it does not know", () => {
    for (const wrong of [
      { store_method: "in_memory" },
      { adapter: "in_memory" },
      { max_value_bytes: 0 },
      { max_value_bytes: 8 * 1024 * 1024 + 1 },
    ]) {
      expect(stateConfigSchema.safeParse(wrong).success).toBe(false);
    }
  });
});
