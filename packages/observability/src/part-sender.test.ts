import { manualClock } from "@svc-runtime/engine/testing";
import { expect, it } from "vitest";
import { MAX_PART, PartSender } from "./part-sender.ts";

function start() {
  const clock = manualClock();
  const parts: (readonly number[])[] = [];
  const sender = new PartSender<number>(clock, 10 * MAX_PART, (part) => parts.push(part));
  return { clock, parts, sender };
}
const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, at) => from + at);

it("sends few items at once, and many in parts, in order, each in a later turn", () => {
  const { clock, parts, sender } = start();
  sender.add(numbers(3));
  expect(parts.splice(0)).toEqual([[0, 1, 2]]);
  sender.add(numbers(2 * MAX_PART));
  sender.add(numbers(1, 2 * MAX_PART));
  expect(parts.map(({ length }) => length)).toEqual([MAX_PART]);
  clock.advance(1);
  expect(parts.map(({ length }) => length)).toEqual([MAX_PART, MAX_PART, 1]);
  expect(parts.flat()).toEqual(numbers(2 * MAX_PART + 1));
});

it("drops items for which there is no room, and counts them", () => {
  const { clock, parts, sender } = start();
  expect(sender.add(numbers(10 * MAX_PART + 3))).toBe(3);
  expect(sender.add(numbers(MAX_PART + 2))).toBe(2);
  clock.advance(1);
  expect(parts.flat()).toHaveLength(11 * MAX_PART);
});

it("sends nothing after its end", () => {
  const { clock, parts, sender } = start();
  sender.add(numbers(MAX_PART + 1));
  sender.stop();
  clock.advance(1);
  expect(parts).toHaveLength(1);
});
