import { expect, it } from "vitest";
import { untilNextPoll } from "./poll-delay.ts";

it("waits longer after an answer that took long", () => {
  expect(untilNextPoll(undefined, 1_000)).toBe(1_000);
  expect(untilNextPoll({ tookMs: 20 }, 1_000)).toBe(1_000);
  expect(untilNextPoll({ tookMs: 500 }, 1_000)).toBe(10_000);
});
