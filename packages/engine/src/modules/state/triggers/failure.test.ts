import { CallError } from "@svc/protocol";
import { describe, expect, it } from "vitest";
import { backOffMs, failureOf } from "./failure.ts";

describe("a failed try", () => {
  it.each([
    ["function_not_found", "Function f not found", "missing"],
    ["function_not_found", "Function cond not found", "missing"],
    ["function_not_found", "Function that::it::calls not found", "failed"],
    ["worker_overloaded", "", "busy"],
    ["draining", "", "busy"],
    ["invocation_stopped", "", "interrupted"],
    ["call_timeout", "", "failed"],
    ["invocation_failed", "boom", "failed"],
    ["MY_OWN", "boom", "failed"],
    ["trigger_loop", "", "hopeless"],
  ])("of %s (%s) counts as %s", (code, message, failure) => {
    expect(failureOf(new CallError(code, message), ["f", "cond"])).toBe(failure);
  });

  it("is followed by a wait that doubles from 200 ms to 30 s, a fifth more or less", () => {
    const waits = [1, 2, 3, 8, 9, 1_000].map((tries) => backOffMs(tries, () => 0.5));
    expect(waits).toEqual([200, 400, 800, 25_600, 30_000, 30_000]);
    expect([backOffMs(1, () => 0), backOffMs(1, () => 1)]).toEqual([160, 240]);
  });
});
