import { backoffMs, CallError } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import type { CallFailureCause } from "../kernel/module.ts";
import { DeliveryAttempt, UNAVAILABLE_BACKOFF } from "./call-failure.ts";

function failureOf(cause: CallFailureCause | undefined, code: string): string {
  const attempt = new DeliveryAttempt();
  attempt.callOptions({}).onFailed?.(cause);
  return attempt.failureOf(new CallError(code, "message"));
}

describe("a failed attempt", () => {
  it.each([
    ["function_not_found", "missing"],
    ["worker_overloaded", "unavailable"],
    ["draining", "unavailable"],
    ["invocation_stopped", "unavailable"],
    ["invalid_message", "failed"],
    ["trigger_loop", "permanent"],
  ])("whose call reached no provider, with code %s, is %s", (code, failure) => {
    expect(failureOf("not_delivered", code)).toBe(failure);
  });

  it.each(["invocation_stopped", "worker_overloaded", "trigger_loop"])(
    "whose provider disconnected during the call is interrupted, with code %s too",
    (code) => {
      expect(failureOf("provider_disconnected", code)).toBe("interrupted");
    },
  );

  // A nested call of the handler may have failed with the same error.
  it.each([
    "function_not_found",
    "worker_overloaded",
    "draining",
    "invocation_stopped",
    "call_timeout",
    "invocation_failed",
    "MY_OWN",
  ])("that a handler answered with code %s is failed, so it counts as an attempt", (code) => {
    expect(failureOf(undefined, code)).toBe("failed");
  });

  it("that a handler answered with code trigger_loop is permanent", () => {
    expect(failureOf(undefined, "trigger_loop")).toBe("permanent");
  });

  it("is classified by the last call only", () => {
    const attempt = new DeliveryAttempt();
    attempt.callOptions({}).onFailed?.("not_delivered");
    attempt.callOptions({});
    expect(attempt.failureOf(new CallError("worker_overloaded", "message"))).toBe("failed");
  });
});

describe("a cancelled attempt", () => {
  it("cancels the call that is in flight, with the reason", () => {
    const attempt = new DeliveryAttempt();
    const reasons: string[] = [];
    const started: string[] = [];
    const options = attempt.callOptions({ onStarted: ({ workerId }) => void started.push(workerId) });
    options.onStarted?.({ workerId: "w", cancel: (reason) => void reasons.push(reason), setDeadline() {} });
    attempt.cancel("the job was cancelled");
    expect([started, reasons]).toEqual([["w"], ["the job was cancelled"]]);
  });

  it("starts no further call", () => {
    const attempt = new DeliveryAttempt();
    attempt.cancel("the job was cancelled");
    expect(() => attempt.callOptions({})).toThrow(
      expect.objectContaining({ code: "call_cancelled", message: expect.stringContaining("the job was cancelled") }),
    );
  });
});

describe("the delay after a failure that was not the delivery's fault", () => {
  const delayOf = (tries: number, random: number): number => backoffMs(UNAVAILABLE_BACKOFF, tries, () => random);

  it("doubles from 200 ms to 30 s", () => {
    expect([1, 2, 3, 8, 9, 1_000].map((tries) => delayOf(tries, 0.5))).toEqual([200, 400, 800, 25_600, 30_000, 30_000]);
  });

  it("is shorter or longer by up to a fifth", () => {
    expect([delayOf(1, 0), delayOf(1, 1)]).toEqual([160, 240]);
  });
});
