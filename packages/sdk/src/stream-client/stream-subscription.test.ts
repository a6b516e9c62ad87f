import { expect, it } from "vitest";
import { silentLogger } from "../logger.ts";
import { ManualClock } from "../manual-clock.test.support.ts";
import { JOIN_DEADLINE_MS, Subscription } from "./stream-subscription.ts";

function setUp() {
  const clock = new ManualClock();
  const sent: unknown[] = [];
  const reported: string[] = [];
  const subscription = new Subscription(
    "s1",
    { streamName: "todos", groupId: "g" },
    { onError: ({ code }) => reported.push(code), onStatus: (status) => reported.push(status) },
    {
      clock,
      logger: silentLogger,
      epoch: () => "first",
      send: (message) => sent.push(message.type),
      drop: () => reported.push("dropped"),
    },
  );
  return { clock, sent, reported, subscription };
}

it("retries a join that the engine does not answer", () => {
  const { clock, sent, reported, subscription } = setUp();
  subscription.join();
  clock.advance(JOIN_DEADLINE_MS - 1);
  expect(reported).toEqual([]);
  clock.advance(1);
  expect(reported).toEqual(["refused", "call_timeout"]);
  clock.advance(1_300);
  expect(sent).toEqual(["join", "join"]);
  subscription.joined(true);
  expect(reported.slice(2)).toEqual(["joining", "live"]);
  expect(clock.timers).toBe(0);
});

it("a subscription that was left, or whose connection was lost, has no timers", () => {
  const { clock, sent, reported, subscription } = setUp();
  subscription.join();
  subscription.lost();
  expect(clock.timers).toBe(0);
  subscription.join();
  subscription.leave();
  expect(clock.timers).toBe(0);
  expect(sent).toEqual(["join", "join", "leave"]);
  expect(reported).toEqual(["dropped", "closed"]);
});
