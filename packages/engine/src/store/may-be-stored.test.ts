import { CallError } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { mayBeStored } from "./may-be-stored.ts";

describe("a write that was rejected", () => {
  it.each([
    ["call_timeout", undefined, true],
    ["call_timeout", "not_written", false],
    ["storage_failed", undefined, true],
    ["storage_failed", "unknown", true],
    ["storage_failed", "not_written", false],
    ["store_unavailable", "unknown", true],
    ["store_unavailable", "not_written", false],
    ["run_expelled", undefined, false],
    ["overloaded", undefined, false],
    ["draining", undefined, false],
    ["payload_too_large", undefined, false],
    ["state_conflict", undefined, false],
  ] as const)("with %s and outcome %s may be stored: %s", (code, outcome, expected) => {
    expect(mayBeStored(new CallError(code, "a test", outcome === undefined ? {} : { details: { outcome } }))).toBe(
      expected,
    );
  });

  it("with an unknown error may be stored", () => {
    expect(mayBeStored(new TypeError("a defect"))).toBe(true);
  });
});
