import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { itemStoreSuite } from "../testing/item-store-suite.ts";
import { outboxLimitSuite } from "../testing/outbox-limit-suite.ts";
import { newValue, newWrite, noticeFor, suiteClock } from "../testing/suite/harness.ts";
import { memoryItems } from "./memory.ts";

itemStoreSuite("in_memory", async (clock) => memoryItems({ maxBytes: 1_000_000_000, clock }));
outboxLimitSuite("in_memory", async (clock) => memoryItems({ maxBytes: 1_000_000_000, clock }));

describe("the memory adapter", () => {
  const clock = suiteClock();
  const large = newValue(JSON.stringify("x".repeat(500)));
  const tooMuch = { code: "storage_failed", details: { max_bytes: 1_000 } };

  it("refuses writes beyond its bytes, and takes them again once something was deleted", async () => {
    const items = memoryItems({ maxBytes: 1_000, clock });
    await items.set("s", "a", large, newWrite());
    await expect(items.set("s", "b", large, newWrite())).rejects.toMatchObject(tooMuch);
    await expect(items.set("s", "a", newValue("1"), newWrite())).resolves.toMatchObject({ status: "written" });
    await expect(items.set("s", "b", large, newWrite())).resolves.toMatchObject({ status: "written" });
    await items.delete("s", "b", newWrite());
    await expect(items.set("s", "c", large, newWrite())).resolves.toMatchObject({ status: "written" });
  });

  it("counts what waits for watchers among its bytes until it was served", async () => {
    const items = memoryItems({ maxBytes: 2_000, clock });
    const write = newWrite({ notice: noticeFor(["v", "w"]) });
    await items.set("s", "a", newValue(`"${"x".repeat(500)}"`), write);
    await expect(items.set("s", "a", newValue(`"${"y".repeat(500)}"`), write)).rejects.toMatchObject({
      code: "storage_failed",
    });
    for (const watcher of ["v", "w"]) {
      await items.outbox.acknowledge(await items.outbox.pending({ watcher, after: 0, limit: 10, maxBytes: 1_000_000 }));
    }
    await expect(items.set("s", "a", newValue('"z"'), write)).resolves.toMatchObject({ status: "written" });
  });

  it("keeps counting versions when there are more empty scopes than it remembers", async () => {
    const items = memoryItems({ maxBytes: 1_000_000, clock });
    await items.set("first", "k", newValue("1"), newWrite());
    await items.delete("first", "k", newWrite());
    for (let index = 0; index < 10_001; index++) {
      await items.set(`scope-${index}`, "k", newValue("1"), newWrite());
      await items.delete(`scope-${index}`, "k", newWrite());
    }
    expect(await items.set("first", "k", newValue("1"), newWrite())).toMatchObject({ item: { version: 3 } });
  });

  it("writes its snapshot as NDJSON, without expired items", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-items-memory-"));
    const file = join(folder, "snapshot.ndjson");
    const items = memoryItems({ maxBytes: 1_000_000, clock });
    await items.set("s", "b", newValue("9007199254740993"), newWrite({ now: 0 }));
    await items.set("s", "a", newValue('"x"', clock.time + 1), newWrite({ now: 1 }));
    await items.set("s", "gone", newValue("1", clock.time), newWrite());
    await items.snapshot(file);
    expect(readFileSync(file, "utf8")).toBe(
      `{"scope":"s","key":"a","value":"x","version":1,"updated_at":"1970-01-01T00:00:00.001Z","expires_at":"1970-01-01T00:16:40.001Z"}\n` +
        `{"scope":"s","key":"b","value":9007199254740993,"version":1,"updated_at":"1970-01-01T00:00:00.000Z"}\n`,
    );
    rmSync(folder, { recursive: true });
  });
});
