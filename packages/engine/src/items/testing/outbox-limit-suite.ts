import { describe, expect, it } from "vitest";
import type { Clock } from "../../kernel/clock.ts";
import type { ItemStore } from "../item-store.ts";
import { MAX_WAITING_DELIVERIES } from "../outbox.ts";
import { newValue, newWrite, noticeFor, Suite } from "./suite/harness.ts";

/** The slow part of `itemStoreSuite`, in a separate suite so that it runs in parallel. */
export function outboxLimitSuite(name: string, open: (clock: Clock) => Promise<ItemStore>): void {
  describe(`the outbox of item store ${name}`, () => {
    const suite = new Suite(open);

    it("refuses writes for a watcher with 100,000 deliveries waiting, and takes them again once some were served", async () => {
      const notice = noticeFor(["slow"]);
      const batch = (round: number) =>
        suite.store.writeMany(
          Array.from({ length: 1_000 }, (_, index) => ({
            type: "set" as const,
            scope: "s",
            key: `k${index}`,
            value: newValue(String(round)),
            write: newWrite({ notice }),
          })),
        );
      for (let round = 0; round < MAX_WAITING_DELIVERIES / 1_000; round++) await batch(round);
      const refused = {
        code: "overloaded",
        message: expect.stringContaining("slow"),
        details: { watcher: "slow", waiting: MAX_WAITING_DELIVERIES },
      };
      await expect(suite.set("s", "one", "1", { notice })).rejects.toMatchObject(refused);
      await expect(batch(-1)).rejects.toMatchObject(refused);
      expect(await suite.store.get("s", "one")).toBeUndefined();
      expect(await suite.json("s", "k0")).toBe(String(MAX_WAITING_DELIVERIES / 1_000 - 1));
      expect(await suite.set("s", "two", "1")).toMatchObject({ status: "written" });
      await suite.store.outbox.acknowledge(
        await suite.store.outbox.pending({ watcher: "slow", after: 0, limit: 1, maxBytes: 1_000 }),
      );
      expect(await suite.set("s", "one", "1", { notice })).toMatchObject({ status: "written" });
      expect(await suite.store.outbox.discard("slow")).toBe(MAX_WAITING_DELIVERIES);
      expect(await suite.store.outbox.watchers()).toEqual([]);
    }, 120_000);
  });
}
