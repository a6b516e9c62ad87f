import { expect, it } from "vitest";
import { LogUnavailable } from "../../store/log.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { LogEnd } from "./log-end.ts";

it("takes an end before what was seen for true only after 15 s without an entry that shows the opposite", () => {
  const clock = manualClock();
  const end = new LogEnd(clock);
  const isDoubtful = (last: number): boolean => {
    try {
      end.check(last);
      return false;
    } catch (error) {
      expect(error).toBeInstanceOf(LogUnavailable);
      return true;
    }
  };
  end.sawEarlier(5);
  expect(isDoubtful(4)).toBe(true);
  clock.advance(14_999);
  expect(isDoubtful(4)).toBe(true);
  // The servers acknowledge an entry: what answered was a former leader.
  end.sawNow(6);
  clock.advance(60_000);
  expect(isDoubtful(4)).toBe(true);
  clock.advance(14_999);
  end.sawNow(6);
  clock.advance(1);
  expect(isDoubtful(4)).toBe(true);
  // Neither an earlier entry nor what was known before shows that the last one is there.
  end.sawNow(3);
  end.sawEarlier(6);
  clock.advance(15_000);
  expect(isDoubtful(4)).toBe(false);
});
