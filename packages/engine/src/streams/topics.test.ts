import { describe, expect, it } from "vitest";
import type { StreamEvent } from "../kernel/stream-contract.ts";
import { Subscription } from "./topic.ts";
import { Topics } from "./topics.ts";

const event = (group: string, json = "1"): StreamEvent => ({
  stream: "s",
  group,
  id: "a",
  type: "update",
  json,
  version: undefined,
});
const subscribe = (topics: Topics, group: string): Subscription => {
  const subscription = new Subscription(
    { subscriptionId: group, stream: "s", group, id: undefined, context: null },
    { deliver: () => {} },
    undefined,
  );
  topics.subscribe(subscription);
  return subscription;
};

describe("the groups that the hub remembers", () => {
  it("number their events each for itself, with or without subscribers", () => {
    const topics = new Topics();
    expect([topics.publish(event("a"), 0), topics.publish(event("a"), 0), topics.publish(event("b"), 0)]).toEqual([
      1, 2, 1,
    ]);
    subscribe(topics, "a");
    expect(topics.publish(event("a"), 0)).toBe(3);
  });

  it("are those that were in use latest; a number never comes twice, and who comes back to a forgotten one is not let go on", () => {
    const topics = new Topics({ maxQuiet: 10 });
    const early = subscribe(topics, "early");
    for (let published = 0; published < 5; published++) topics.publish(event("early"), 0);
    topics.unsubscribe(early, { forget: false });
    const kept = subscribe(topics, "kept");
    for (let group = 0; group < 100; group++) topics.publish(event(`g${group}`), 0);
    expect(topics.all().length).toBeLessThanOrEqual(11);
    expect(topics.publish(event("kept"), 0)).toBe(1);
    expect(kept.topic?.after(0)).toHaveLength(1);

    const again = subscribe(topics, "early");
    expect(again.topic?.seq).toBeGreaterThanOrEqual(5);
    expect(topics.publish(event("early"), 0)).toBeGreaterThan(5);
    expect(again.topic?.after(4)).toBeUndefined();
  });

  it("keep so many bytes together; the one that was quiet for longest gives up what it keeps, but not its numbers", () => {
    const topics = new Topics({ maxKeptBytes: 3_000 });
    const [quiet, busy] = [subscribe(topics, "quiet"), subscribe(topics, "busy")];
    const json = JSON.stringify("x".repeat(98));
    for (let published = 0; published < 3; published++) topics.publish(event("quiet", json), 0);
    for (let published = 0; published < 8; published++) topics.publish(event("busy", json), 0);
    expect(quiet.topic?.after(0)).toBeUndefined();
    expect(quiet.topic?.after(3)).toEqual([]);
    expect(busy.topic?.after(0)).toHaveLength(8);
    const kept = topics.all().reduce((sum, topic) => sum + topic.keptBytes, 0);
    expect(kept).toBeLessThanOrEqual(3_000);
    expect(topics.publish(event("quiet", json), 0)).toBe(4);
  });

  it("keep few events of many groups, however small the events are", () => {
    const topics = new Topics({ maxKeptBytes: 1_000_000 });
    const groups = Array.from({ length: 100 }, (_, group) => subscribe(topics, `g${group}`));
    for (const { join } of groups)
      for (let published = 0; published < 100; published++) topics.publish(event(join.group), 0);
    const kept = groups.reduce((sum, { topic }) => sum + (topic?.after(0)?.length ?? 0), 0);
    expect(kept).toBeGreaterThan(3_000);
    expect(kept).toBeLessThan(6_000);
  });

  it("keep nothing for groups that nobody ever joined", () => {
    const topics = new Topics();
    for (let published = 0; published < 10; published++) topics.publish(event("a"), 0);
    expect(topics.all().map(({ keptBytes }) => keptBytes)).toEqual([0]);
  });
});
