import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { recordedShell } from "../shell.test-support.ts";
import { waitForWorker } from "./wait-for-worker.ts";
import type { EngineCalls, WorkerState } from "./worker-functions.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/**
 * A fake engine whose worker is in each state for this many seconds, and in the last one indefinitely. Answers
 * `worker::wait` on the clock of the test.
 */
function engineWith(...course: readonly (readonly [WorkerState, number])[]): EngineCalls {
  const stateAt = (ms: number): WorkerState => {
    let left = ms;
    for (const [state, seconds] of course) {
      if (left < seconds * 1_000) return state;
      left -= seconds * 1_000;
    }
    return course.at(-1)?.[0] ?? "ready";
  };
  const wait = async ({ timeout_ms }: { readonly timeout_ms: number }): Promise<unknown> => {
    const until = performance.now() + timeout_ms;
    while (performance.now() < until && ["installing", "starting", "replacing"].includes(stateAt(performance.now())))
      vi.advanceTimersByTime(100);
    return { name: "w", state: stateAt(performance.now()), reason: null, waits_for: [], tail: [], log_file: null };
  };
  return {
    call: (request: { readonly payload?: unknown }) =>
      wait(request.payload as { readonly timeout_ms: number }) as Promise<never>,
  };
}

const waiting = (engine: EngineCalls) =>
  waitForWorker(recordedShell(), engine, { name: "w", signal: new AbortController().signal, adviceIfStopped: [] });

it("does not count the time of an install", async () => {
  expect(await waiting(engineWith(["installing", 590], ["starting", 110], ["ready", 1]))).toMatchObject({
    state: "ready",
  });
});

it("waits while the engine replaces processes", async () => {
  expect(await waiting(engineWith(["replacing", 400], ["starting", 110], ["ready", 1]))).toMatchObject({
    state: "ready",
  });
});

it("times out 120 s after the start, and for an install that does not end", async () => {
  await expect(waiting(engineWith(["starting", 130], ["ready", 1]))).rejects.toThrow(
    "it is starting: it registered no function",
  );
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ["performance"] });
  await expect(waiting(engineWith(["installing", 900], ["ready", 1]))).rejects.toThrow(
    "it is installing: the install takes longer than 600 s.",
  );
});

it("fails at once if the worker cannot become ready", async () => {
  await expect(waiting(engineWith(["installing", 20], ["failed", 1]))).rejects.toThrow("it is failed");
  expect(performance.now()).toBeLessThan(30_000);
});
