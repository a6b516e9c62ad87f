import type { Clock } from "@svc-runtime/engine/module";
import { describe, expect, it } from "vitest";
import { EventLoopLag } from "./event-loop-lag.ts";

/** A clock whose timers run as late as the test sets. */
function lateClock() {
  let now = 0;
  let next: { readonly at: number; readonly action: () => void } | undefined;
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    after(ms, action) {
      next = { at: now + ms, action };
      return () => {
        next = undefined;
      };
    },
  };
  return {
    clock,
    tick(lateMs: number): void {
      const due = next;
      if (due === undefined) throw new Error("no timer is set");
      now = due.at + lateMs;
      due.action();
    },
  };
}

describe("the lag of the event loop", () => {
  it("is what 99 % of the turns of the last 10 s stay below (gap 48)", () => {
    const { clock, tick } = lateClock();
    const lag = new EventLoopLag(clock);
    expect(lag.p99Ms()).toBe(0);
    lag.start();
    for (let turn = 0; turn < 100; turn++) tick(1);
    expect(lag.health()).toMatchObject({ status: "healthy" });
    // One late tick in 10 s is no lag, a second one is.
    tick(300);
    expect(lag.health()).toMatchObject({ status: "healthy" });
    tick(300);
    expect(lag.health()).toMatchObject({ status: "degraded", details: expect.stringMatching(/(?:200|300) ms/) });
    tick(1_500);
    expect(lag.health()).toMatchObject({ status: "unhealthy" });
    for (let turn = 0; turn < 100; turn++) tick(2);
    expect(lag.health()).toMatchObject({ status: "healthy", details: expect.stringContaining("2 ms") });
    lag.stop();
    expect(() => tick(0)).toThrow("no timer is set");
  });

  it("is the longest one since metrics last asked, however long", () => {
    const { clock, tick } = lateClock();
    const lag = new EventLoopLag(clock);
    lag.start();
    for (const lateMs of [3, 12_000, 7]) tick(lateMs);
    expect(lag.takeWorst()).toBe(12_000);
    tick(4);
    expect(lag.takeWorst()).toBe(4);
    expect(lag.takeWorst()).toBe(0);
    lag.stop();
  });
});
