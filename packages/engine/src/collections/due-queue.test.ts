import fc from "fast-check";
import { expect, it } from "vitest";
import { type Due, DueQueue } from "./due-queue.ts";

it("gives the earliest first, whatever was put in, moved and taken out", () => {
  const step = fc.tuple(fc.constantFrom("set", "delete"), fc.nat(20), fc.nat(50));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new DueQueue<Due>();
      const things = Array.from({ length: 21 }, (): Due => ({ dueAt: 0, place: -1 }));
      const expected = new Map<Due, number>();
      for (const [what, index, dueAt] of steps) {
        const thing = things[index] as Due;
        if (what === "set") {
          queue.set(thing, dueAt);
          expected.set(thing, dueAt);
        } else {
          queue.delete(thing);
          expected.delete(thing);
        }
        expect(queue.first?.dueAt).toBe(expected.size === 0 ? undefined : Math.min(...expected.values()));
      }
      const order: number[] = [];
      for (let { first } = queue; first !== undefined; { first } = queue) {
        order.push(first.dueAt);
        queue.delete(first);
      }
      expect(order).toEqual([...expected.values()].sort((a, b) => a - b));
    }),
  );
});
