// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { ApiFailure } from "./api.ts";
import { untilNextCall } from "./use-polled-call.ts";

const failure = (code: string): ApiFailure => new ApiFailure("a::b", { code, message: "failed" });

it("does not repeat a call that was refused for lack of rights", () => {
  expect(untilNextCall(null, 5_000)).toBe(5_000);
  expect(untilNextCall(failure("call_timeout"), 5_000)).toBe(5_000);
  expect(untilNextCall(failure("FORBIDDEN"), 5_000)).toBe(false);
});
