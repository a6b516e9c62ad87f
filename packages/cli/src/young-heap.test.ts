import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { growYoungHeapWhenBusy, keepYoungHeapSmall, youngHeapBytes } from "./young-heap.ts";

const MB = 1024 * 1024;
const kept: { list: object[] } = { list: [] };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Fills the young heap often enough for V8 to let it grow, if it may. */
function makeSurvivors(): void {
  for (let round = 0; round < 6; round++) kept.list = Array.from({ length: 20_000 }, (_, id) => ({ id, text: `survivor ${id}` }));
}

it("lets the young heap grow once calls keep the engine busy, up to what helps", () => {
  keepYoungHeapSmall();
  // What the runner's heap was already allowed to grow to is committed only when it is needed.
  for (let round = 0; round < 5; round++) makeSurvivors();
  const small = youngHeapBytes();
  let calls = 0;
  const stop = growYoungHeapWhenBusy(() => calls);
  for (let look = 0; look < 10; look++) {
    calls += 100;
    vi.advanceTimersByTime(250);
    makeSurvivors();
  }
  // A test runner's own heap may be large already; it does not grow at any rate.
  expect(youngHeapBytes()).toBe(small);
  for (let look = 0; look < 20; look++) {
    calls += 10_000;
    vi.advanceTimersByTime(250);
    makeSurvivors();
  }
  expect(youngHeapBytes()).toBeGreaterThanOrEqual(8 * MB);
  stop();
  expect(vi.getTimerCount()).toBe(0);
});
