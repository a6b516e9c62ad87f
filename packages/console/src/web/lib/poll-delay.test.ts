import { expect, it, vi } from "vitest";
import { pollWhileVisible, untilNextPoll } from "./poll-delay.ts";

it("waits longer after an answer that took long", () => {
  expect(untilNextPoll(undefined, 1_000)).toBe(1_000);
  expect(untilNextPoll({ tookMs: 20 }, 1_000)).toBe(1_000);
  expect(untilNextPoll({ tookMs: 500 }, 1_000)).toBe(10_000);
});

it("asks again after each answer, only while the page is visible, until it is stopped", async () => {
  vi.useFakeTimers();
  const page = { visibilityState: "visible" };
  vi.stubGlobal("document", page);
  try {
    let asked = 0;
    const stop = pollWhileVisible(async () => {
      asked += 1;
    }, 1_000);
    await vi.advanceTimersByTimeAsync(2_500);
    expect(asked).toBe(2);
    page.visibilityState = "hidden";
    await vi.advanceTimersByTimeAsync(2_000);
    expect(asked).toBe(2);
    page.visibilityState = "visible";
    await vi.advanceTimersByTimeAsync(1_000);
    expect(asked).toBe(3);
    stop();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(asked).toBe(3);
  } finally {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  }
});
