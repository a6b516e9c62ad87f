import { describe, expect, it } from "vitest";
import { problemsOf } from "./check-history.ts";
import type { Ack, ToldEvent } from "./journal.ts";

const event = (
  version: number,
  value: unknown = version,
  old: unknown = version === 1 ? null : version - 1,
): ToldEvent => ({
  type: version === 1 ? "state:created" : "state:updated",
  key: "k",
  version,
  old,
  value,
});
const ack = (version: number, value: unknown = version): Ack => ({ key: "k", version, value });
const check = (
  events: readonly ToldEvent[],
  acks: readonly Ack[],
  version: number,
  value: unknown = version,
): string[] => problemsOf({ events, acks, failures: new Map() }, [{ key: "k", version, value }]);

describe("the check of a history", () => {
  it("accepts one in which the last event of a key arrived twice, and a write was never acknowledged", () => {
    expect(check([event(1), event(2), event(2), event(3)], [ack(1), ack(3)], 3)).toEqual([]);
  });

  it.each([
    [
      "an acknowledged write that is gone",
      [event(1)],
      [ack(1), ack(2)],
      1,
      "k@2 was acknowledged, but the item is at version 1",
    ],
    ["one version given twice", [event(1)], [ack(1), ack(1)], 1, "two writes were acknowledged as k@1"],
    ["a missing event", [event(1), event(3)], [], 3, "k@3 was told after k@1"],
    ["a missing last event", [event(1)], [], 2, "k is at version 2, but events were reported up to 1"],
    ["an older event", [event(1), event(2), event(1)], [], 2, "k@1 was told after k@2"],
    ["an event repeated in other words", [event(1), event(1, "other")], [], 1, "k@1 was told again in other words"],
    [
      "another value than was acknowledged",
      [event(1, "x")],
      [ack(1, "y")],
      1,
      "k@1 was acknowledged with another value than its event had",
    ],
    [
      "an old value that never was",
      [event(1), event(2, 2, "odd")],
      [],
      2,
      "the old value of k@2 is not the one before",
    ],
    ["an item that is not what was told", [event(1, "x")], [], 1, "k is not what its last event said"],
  ] as const)("finds %s", (_, events, acks, version, problem) => {
    expect(check(events, acks, version)).toContain(problem);
  });
});
