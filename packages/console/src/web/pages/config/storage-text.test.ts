import { expect, it } from "vitest";
import { queueUsage, stateUsage } from "./storage-text.ts";

it("sums the items of all scopes", () => {
  const groups = [
    { scope: "a", items: 1, bytes: 3 },
    { scope: "b", items: 1_200, bytes: 500 },
  ];
  expect(stateUsage({ items: groups, total: 2 })).toEqual({ text: "1,201 items in 2 scopes", bytes: 503 });
  expect(stateUsage({ items: groups.slice(0, 1), total: 1 })).toEqual({ text: "1 item in 1 scope", bytes: 3 });
  expect(stateUsage({ items: [], total: 0 })).toEqual({ text: "0 items in 0 scopes", bytes: 0 });
});

it("says so if it summed only some of the scopes", () => {
  expect(stateUsage({ items: [{ scope: "a", items: 2, bytes: 3 }], total: 4 }).text).toBe(
    "2 items in the first 1 of 4 scopes",
  );
});

it("sums the jobs and dead letters of all queues", () => {
  expect(queueUsage([{ waiting: 1, delayed: 0, dead: 1, bytes: 7 }])).toEqual({
    text: "1 pending job, 1 dead letter",
    bytes: 7,
  });
  const two = [
    { waiting: 1, delayed: 2, dead: 0, bytes: 7 },
    { waiting: 0, delayed: 0, dead: 2, bytes: 3 },
  ];
  expect(queueUsage(two)).toEqual({ text: "3 pending jobs, 2 dead letters", bytes: 10 });
});
