import { expect, it } from "vitest";
import { TestClock } from "./manual-clock.ts";

const START_MS = Date.UTC(2026, 0, 1);

it("stands still until it is moved, and runs timers in the order of their times", async () => {
  const clock = new TestClock(START_MS);
  const ran: string[] = [];
  clock.after(200, () => ran.push(`b at ${clock.now() - START_MS}`));
  clock.after(100, () => ran.push(`a at ${clock.now() - START_MS}`));
  clock.after(201, () => ran.push("too late"));
  const cancel = clock.after(150, () => ran.push("called off"));
  cancel();
  await clock.advance(200);
  expect(ran).toEqual(["a at 100", "b at 200"]);
  expect([clock.now() - START_MS, clock.monotonic()]).toEqual([200, 200]);
});

it("runs timers that are set on the way, also by what a timer only began", async () => {
  const clock = new TestClock(START_MS);
  const ran: number[] = [];
  const again = (): void => {
    ran.push(clock.monotonic());
    void new Promise((resolve) => setImmediate(resolve)).then(() => clock.after(100, again));
  };
  clock.after(100, again);
  await clock.advance(350);
  expect(ran).toEqual([100, 200, 300]);
});

it("runs what is due at once without being moved, unless it is called off", async () => {
  const clock = new TestClock(START_MS);
  const ran = new Promise<string>((resolve) => clock.after(0, () => resolve("ran")));
  clock.after(-5, () => {
    throw new Error("was called off");
  })();
  expect(await ran).toBe("ran");
});

it("adds up moves that are asked for at the same time, and refuses what is no time", async () => {
  const clock = new TestClock(START_MS);
  await Promise.all([clock.advance(10), clock.advance(20)]);
  expect(clock.monotonic()).toBe(30);
  await expect(clock.advance(-1)).rejects.toThrow(TypeError);
  await expect(clock.advance(Number.NaN)).rejects.toThrow(TypeError);
});

it("goes on after a timer that failed, whose error comes from the move", async () => {
  const clock = new TestClock(START_MS);
  clock.after(5, () => {
    throw new Error("a timer's");
  });
  await expect(clock.advance(10)).rejects.toThrow("a timer's");
  await clock.advance(10);
  expect(clock.monotonic()).toBe(15);
});
