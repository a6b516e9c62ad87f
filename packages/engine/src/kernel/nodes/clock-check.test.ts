import { beforeEach, describe, expect, it } from "vitest";
import { type ManualClock, manualClock } from "../../testing/manual-clock.ts";
import type { ClockState } from "../nodes-contract.ts";
import { ClockCheck, compareClocks } from "./clock-check.ts";

it.each([
  ["open", []],
  ["right", [0]],
  ["right", [1_000, -1_000]],
  ["open", [-600_000]],
  ["right", [600_000, 0]],
  ["wrong", [-600_000, -599_000]],
  ["wrong", [600_000, 2_000]],
  ["open", [600_000, -600_000]],
  ["open", [600_000, 600_000, 0]],
  ["wrong", [600_000, 600_000, 600_000, 0]],
] as const)("a clock is %s if the others are ahead by %j ms", (expected, offsets) => {
  expect(compareClocks(offsets)).toBe(expected);
});

describe("the state of a node's clock", () => {
  let clock: ManualClock;
  let offsets: readonly number[];
  let stateOfPeers: ClockState;
  let check: ClockCheck;
  beforeEach(() => {
    clock = manualClock();
    offsets = [];
    stateOfPeers = "right";
    check = new ClockCheck(clock, () => offsets.map((offsetMs) => ({ offsetMs, state: stateOfPeers })));
  });
  /** The states after each of some seconds in which the clocks of the others have these offsets. */
  const during = (seconds: number, ...of: readonly number[]): readonly string[] => {
    offsets = of;
    return Array.from({ length: seconds }, () => {
      clock.advance(1_000);
      return check.state();
    });
  };

  it("is not known at the start until most agree, and for 3 s if no other one is heard or two differ", () => {
    expect(check.state()).toBe("unknown");
    expect(during(1, 0)).toEqual(["right"]);
    for (const alone of [[], [-600_000]]) {
      check = new ClockCheck(clock, () => offsets.map((offsetMs) => ({ offsetMs, state: stateOfPeers })));
      expect(during(3, ...alone)).toEqual(["unknown", "unknown", "right"]);
    }
  });

  it("is not known when it begins to differ, and wrong after 3 s", () => {
    expect(during(1, 0, 0)).toEqual(["right"]);
    expect(during(4, -600_000, -600_000)).toEqual(["unknown", "unknown", "unknown", "wrong"]);
    check = new ClockCheck(clock, () => offsets.map((offsetMs) => ({ offsetMs, state: stateOfPeers })));
    expect(during(4, -600_000, -600_000)).toEqual(["unknown", "unknown", "unknown", "wrong"]);
  });

  it("is right again at once after a message that was late", () => {
    during(1, 0, 0);
    expect([...during(2, -1_500, -1_500), ...during(1, 0, 0)]).toEqual(["unknown", "unknown", "right"]);
    expect(during(2, -1_500, -1_500)).toEqual(["unknown", "unknown"]);
  });

  it("stays wrong while others are away, until most have agreed for 3 s", () => {
    during(5, -600_000, -600_000);
    expect(during(20, -600_000)).toEqual(new Array(20).fill("wrong"));
    expect(during(5)).toEqual(new Array(5).fill("wrong"));
    expect(during(5, -600_000, 0)).toEqual(["wrong", "wrong", "wrong", "right", "right"]);
    expect(during(5, 600_000)).toEqual(new Array(5).fill("right"));
  });

  it("stays unknown if it began to differ and most others are away then", () => {
    during(1, 0, 0);
    during(1, -600_000, -600_000);
    expect(during(20, -600_000)).toEqual(new Array(20).fill("unknown"));
  });

  it.each<[ClockState, readonly number[]]>([
    ["wrong", []],
    ["wrong", [-600_000]],
    ["unknown", [-600_000]],
  ])(
    "counts as right when no clock that is left has been right for 10 s, until one is back (%s, %j)",
    (state, left) => {
      during(5, -600_000, -600_000);
      stateOfPeers = state;
      expect(during(10, ...left)).toEqual(new Array(10).fill("wrong"));
      expect(during(3, ...left)).toEqual(["right", "right", "right"]);
      expect(check.look()).toBe("wrong");
      stateOfPeers = "right";
      expect(during(2, -600_000)).toEqual(["wrong", "wrong"]);
      stateOfPeers = state;
      check = new ClockCheck(clock, () => offsets.map((offsetMs) => ({ offsetMs, state: stateOfPeers })));
      during(1, 0, 0);
      during(1, -600_000, -600_000);
      expect(during(11, ...left)).toEqual([...new Array(10).fill("unknown"), "right"]);
    },
  );

  it("stays wrong while most clocks contradict it, also if none of them is right", () => {
    stateOfPeers = "wrong";
    during(5, -600_000, -600_000);
    expect(during(20, -600_000, -600_000)).toEqual(new Array(20).fill("wrong"));
  });
});
