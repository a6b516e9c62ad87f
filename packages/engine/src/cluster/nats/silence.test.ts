import { expect, it } from "vitest";
import { manualClock } from "../../testing/manual-clock.ts";
import { Silence } from "./silence.ts";

it("grows while nothing is received, but not by time in which the process was suspended", () => {
  const clock = manualClock();
  let received = 0;
  const silence = new Silence(clock, () => received);
  clock.advance(5_000);
  expect(silence.ms).toBe(5_000);
  received = 1;
  clock.advance(500);
  expect(silence.ms).toBe(0);
  clock.advance(1_500);
  expect(silence.ms).toBe(1_500);
  silence.stop();
  expect(clock.pendingTimers).toBe(0);
});
