import { describe, expect, it } from "vitest";
import { memoryItems } from "../../../items/adapters/memory.ts";
import type { Watcher } from "../../../items/outbox.ts";
import { MAX_WAITING_DELIVERIES } from "../../../items/outbox.ts";
import { WatcherIndex } from "../../../items/watcher-index.ts";
import { silentLogger } from "../../../kernel/logger.ts";
import { manualClock } from "../../../testing/index.ts";
import { Orphans } from "./orphans.ts";
import { stateTriggerSettings } from "./settings.ts";

const filter = stateTriggerSettings(["created"]).parse({ scope: "s" });

function orphansOn(index: WatcherIndex<Watcher>): Orphans {
  const clock = manualClock(0);
  const { outbox } = memoryItems({ maxBytes: 1_000_000, clock });
  return new Orphans({ index, outbox, clock, log: silentLogger });
}

describe("a trigger that was not registered since the start", () => {
  it("is discarded before writes would be rejected because of it, including earlier deliveries", () => {
    const index = new WatcherIndex<Watcher>();
    const orphans = orphansOn(index);
    orphans.add("w", "a trigger", { filter, waiting: MAX_WAITING_DELIVERIES - 2 });
    orphans.addedTo("w");
    expect(orphans.has("w")).toBe(true);
    expect(index.matching("s", "k")).toHaveLength(1);
    orphans.addedTo("w");
    expect(orphans.has("w")).toBe(false);
    expect(index.matching("s", "k")).toEqual([]);
  });
});
