import { CallError } from "@svc-runtime/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { createLogger, type LogRecord } from "../kernel/logger.ts";
import { type ManualClock, manualClock } from "../testing/manual-clock.ts";
import { ExpirySweep } from "./expiry-sweep.ts";

/** Fake store of expiry times that records the sweep's calls. */
class Ends {
  readonly clock: ManualClock = manualClock(1_000_000);
  readonly logs: LogRecord[] = [];
  readonly items = new Map<string, number>();
  looks = 0;
  failures = 0;
  readonly sweep = new ExpirySweep({
    clock: this.clock,
    log: createLogger({ level: "debug", now: () => this.clock.now(), write: (record) => this.logs.push(record) }),
    store: {
      expired: async (now, limit) => {
        this.looks += 1;
        if (this.failures > 0) {
          this.failures -= 1;
          throw new CallError("storage_failed", "the disk failed");
        }
        const over = [...this.items].filter(([, end]) => end <= now).sort((a, b) => a[1] - b[1]);
        return over.slice(0, limit).map(([key]) => ({ scope: "s", key, version: 1 }));
      },
      nextExpiry: async () => (this.items.size === 0 ? undefined : Math.min(...this.items.values())),
    },
    remove: async ({ key }) => this.items.delete(key),
  });

  put(key: string, inMs: number): void {
    const end = this.clock.now() + inMs;
    this.items.set(key, end);
    this.sweep.note(end);
  }

  /** Advances the clock and runs due work. */
  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

const ends = { current: new Ends() };
afterEach(async () => {
  await ends.current.sweep.stop();
  expect(ends.current.clock.pendingTimers).toBe(0);
  ends.current = new Ends();
});

describe("the sweep of expired items", () => {
  it("deletes each when its time is over, and looks into the store only then", async () => {
    const { current } = ends;
    await current.sweep.start();
    expect(current.clock.pendingTimers).toBe(0);
    current.put("late", 100_000);
    current.put("soon", 5_000);
    await current.advance(4_999);
    expect(current.looks).toBe(0);
    await current.advance(1);
    expect([...current.items.keys()]).toEqual(["late"]);
    await current.advance(94_999);
    expect(current.looks).toBe(1);
    await current.advance(1);
    expect([...current.items.keys()]).toEqual([]);
    expect(current.clock.pendingTimers).toBe(0);
  });

  it("starts with the stored items, including those that expired before", async () => {
    const { current } = ends;
    current.items.set("old", current.clock.now() - 1);
    for (let index = 0; index < 1_200; index++) current.items.set(`k${index}`, current.clock.now() + 30);
    await current.sweep.start();
    await current.advance(0);
    expect(current.items.size).toBe(1_200);
    await current.advance(30);
    expect(current.items.size).toBe(0);
    expect(current.looks).toBe(4);
  });

  it("tries again, ever more slowly, while the store fails", async () => {
    const { current } = ends;
    await current.sweep.start();
    current.put("k", 10);
    current.failures = 2;
    await current.advance(10);
    await current.advance(999);
    expect(current.looks).toBe(1);
    await current.advance(1);
    expect(current.looks).toBe(2);
    await current.advance(1_999);
    expect(current.looks).toBe(2);
    await current.advance(1);
    expect(current.items.size).toBe(0);
    expect(current.logs.filter(({ level }) => level === "warn")).toHaveLength(2);
  });

  it.each([
    ["back", -7_200_000],
    ["on", 7_200_000],
  ])("deletes an item when its time is over although the clock was set %s", async (_, byMs) => {
    const { current } = ends;
    await current.sweep.start();
    current.put("k", 30_000);
    current.clock.jumpTo(current.clock.now() + byMs);
    // The store shifts its own expiry times.
    current.items.set("k", current.clock.now() + 30_000);
    await current.advance(29_999);
    expect([...current.items.keys()]).toEqual(["k"]);
    await current.advance(1);
    expect([...current.items.keys()]).toEqual([]);
    expect(current.looks).toBe(1);
  });
});
