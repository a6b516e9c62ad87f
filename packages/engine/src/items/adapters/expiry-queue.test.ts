import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExpiryQueue } from "./expiry-queue.ts";

describe("the queue of what ends", () => {
  it("knows what ended and what ends next, whatever moved", () => {
    const step = fc.record({
      key: fc.constantFrom("a", "b", "c", "d"),
      at: fc.option(fc.nat({ max: 9 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(step), fc.nat({ max: 9 }), (steps, now) => {
        const queue = new ExpiryQueue();
        const model = new Map<string, number>();
        for (const { key, at } of steps) {
          queue.put("s", key, at);
          if (at === undefined) model.delete(key);
          else model.set(key, at);
        }
        const ends = [...model.values()].sort((a, b) => a - b);
        const ended = queue.until(now, 10);
        expect(ended.map(({ dueAt }) => dueAt)).toEqual(ends.filter((at) => at <= now));
        expect(new Set(ended.map(({ key }) => key)).size).toBe(ended.length);
        expect(queue.until(now, 1)).toHaveLength(Math.min(1, ended.length));
        expect(queue.first()?.dueAt).toBe(ends[0]);
      }),
    );
  });

  it("stays small when the same items change repeatedly", () => {
    const queue = new ExpiryQueue();
    for (let round = 0; round < 100_000; round++) queue.put("s", `k${round % 10}`, round);
    expect(queue.first()?.dueAt).toBe(99_990);
    expect(queue.takeAll()).toHaveLength(10);
    expect(queue.first()).toBeUndefined();
  });
});
