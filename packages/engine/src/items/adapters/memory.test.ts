import { expect, it } from "vitest";
import { itemStoreSuite, newValue } from "../testing/item-store-suite.ts";
import { memoryItems } from "./memory.ts";

itemStoreSuite("in_memory", async () => memoryItems({ maxBytes: 100_000_000 }));

it("refuses writes beyond its bytes, and takes them again once something was deleted", async () => {
  const state = memoryItems({ maxBytes: 1_000 });
  const always = { ifVersion: undefined };
  const large = newValue(JSON.stringify("x".repeat(500)));
  await state.set("s", "a", large, always);
  await expect(state.set("s", "b", large, always)).rejects.toMatchObject({ code: "storage_failed", details: { max_bytes: 1_000 } });
  await expect(state.set("s", "a", newValue("1"), always)).resolves.toMatchObject({ status: "written" });
  await expect(state.set("s", "b", large, always)).resolves.toMatchObject({ status: "written" });
  await state.delete("s", "b", always);
  await expect(state.set("s", "c", large, always)).resolves.toMatchObject({ status: "written" });
});

it("goes on counting versions when more scopes were emptied than it remembers", async () => {
  const state = memoryItems({ maxBytes: 1_000_000 });
  const always = { ifVersion: undefined };
  await state.set("first", "k", newValue("1"), always);
  await state.delete("first", "k", always);
  for (let index = 0; index < 10_001; index++) {
    await state.set(`scope-${index}`, "k", newValue("1"), always);
    await state.delete(`scope-${index}`, "k", always);
  }
  expect(await state.set("first", "k", newValue("1"), always)).toMatchObject({ item: { version: 3 } });
});
