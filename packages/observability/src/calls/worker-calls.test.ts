import { expect, it } from "vitest";
import { WorkerCalls } from "./worker-calls.ts";

function scene() {
  const connected = new Set(["a", "b"]);
  const clock = { nowMs: 0 };
  const calls = new WorkerCalls(
    (id) => connected.has(id),
    () => clock.nowMs,
  );
  /** Samples as the metrics do, every 5 s. */
  const pass = (seconds: number): void => {
    for (let passed = 0; passed < seconds; passed += 5) {
      clock.nowMs += 5_000;
      calls.sample();
    }
  };
  return { connected, clock, calls, pass };
}

it("counts each worker's calls since it connected", () => {
  const { calls, pass } = scene();
  calls.ended("a", true, 10);
  for (let call = 0; call < 18; call++) calls.ended("a", true, 10);
  calls.ended("a", false, 500);
  pass(10);
  expect(calls.figures("a")).toMatchObject({ calls: 20, errors: 1, error_rate: 0.05, rate_per_second: 2 });
  expect(calls.figures("a")?.p95_ms).toBeGreaterThan(9);
  expect(calls.figures("a")?.p95_ms).toBeLessThan(10.5);
  expect(calls.figures("b")).toBeUndefined();
});

it("forgets calls after 5 to 6 minutes, and workers when they disconnect", () => {
  const { calls, pass, connected } = scene();
  calls.ended("a", false, 1_000);
  pass(300);
  expect(calls.figures("a")).toMatchObject({ calls: 1, window_seconds: 300 });
  pass(60);
  calls.ended("a", true, 1);
  expect(calls.figures("a")).toMatchObject({ calls: 1, errors: 0, window_seconds: 300 });
  expect(calls.figures("a")?.p95_ms).toBeLessThan(2);
  connected.delete("a");
  pass(5);
  expect(calls.figures("a")).toBeUndefined();
  calls.ended("a", true, 1);
  expect(calls.figures("a")).toBeUndefined();
});
