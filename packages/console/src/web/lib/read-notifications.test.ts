import { expect, it } from "vitest";
import { type AlertEvent, isRead, NOTHING_READ, parseMarks, readAll, toggleRead } from "./read-notifications.ts";

const event = (timestamp: number): AlertEvent => ({ name: "slow", state: "firing", timestamp });

it("marks all events, or single ones, as read and as unread", () => {
  const some = toggleRead(NOTHING_READ, event(2));
  expect([1, 2, 3].map((at) => isRead(some, event(at)))).toEqual([false, true, false]);
  expect(isRead(toggleRead(some, event(2)), event(2))).toBe(false);
  const all = toggleRead(readAll([event(3), event(1)]), event(1));
  expect([1, 2, 3, 4].map((at) => isRead(all, event(at)))).toEqual([false, true, true, false]);
});

it("ignores stored text that is no marks", () => {
  for (const stored of [null, "", "null", "[]", '{"upToMs":"1","others":[]}'])
    expect(parseMarks(stored)).toEqual(NOTHING_READ);
  expect(parseMarks('{"upToMs":5,"others":["a",1]}')).toEqual({ upToMs: 5, others: ["a"] });
});
