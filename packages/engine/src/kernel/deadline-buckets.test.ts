import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { manualClock } from "../testing/index.ts";
import { DeadlineBuckets, type DeadlineItem } from "./deadline-buckets.ts";

class Item implements DeadlineItem<Item> {
  readonly deadlineAt: number;
  earlier: DeadlineItem<Item>["earlier"];
  later: DeadlineItem<Item>["later"];
  constructor(deadlineAt: number) {
    this.deadlineAt = deadlineAt;
  }
}

describe("deadlines", () => {
  it("fire within 100 ms of their time, never early, and once; what was removed never fires", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ afterMs: fc.integer({ min: 1, max: 5_000 }), removed: fc.boolean() }), { maxLength: 50 }),
        fc.integer({ min: 1, max: 997 }),
        (plan, stepMs) => {
          const clock = manualClock();
          const fired = new Map<Item, number>();
          const deadlines = new DeadlineBuckets<Item>(clock, (item) => {
            expect(fired.has(item)).toBe(false);
            fired.set(item, clock.monotonic());
          });
          const items = plan.map(({ afterMs }) => new Item(afterMs));
          for (const item of items) deadlines.add(item);
          plan.forEach(({ removed }, at) => {
            if (removed) deadlines.remove(items[at] as Item);
          });
          for (let now = 0; now < 5_200; now += stepMs) clock.advance(stepMs);
          plan.forEach(({ afterMs, removed }, at) => {
            const firedAt = fired.get(items[at] as Item);
            if (removed) expect(firedAt).toBeUndefined();
            else {
              expect(firedAt).toBeGreaterThanOrEqual(afterMs);
              expect(firedAt).toBeLessThanOrEqual(afterMs + 100);
            }
          });
        },
      ),
    );
  });

  it("may be added and removed while others fire", () => {
    const clock = manualClock();
    const fired: number[] = [];
    const second = new Item(100);
    const third = new Item(100);
    const deadlines = new DeadlineBuckets<Item>(clock, (item) => {
      fired.push(item === second ? 2 : item === third ? 3 : 1);
      if (fired.length === 1) {
        deadlines.remove(second);
        deadlines.add(new Item(150));
      }
    });
    for (const item of [new Item(100), second, third]) deadlines.add(item);
    clock.advance(400);
    expect(fired).toEqual([1, 3, 1]);
  });

  it("stop their timer when nothing waits", () => {
    const clock = manualClock();
    const deadlines = new DeadlineBuckets<Item>(clock, () => {});
    const item = new Item(1_000);
    deadlines.add(item);
    deadlines.remove(item);
    clock.advance(2_000);
    expect(clock.pendingTimers).toBe(0);
  });
});
