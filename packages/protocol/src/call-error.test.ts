import { describe, expect, it } from "vitest";
import { CallError, errorCodes, factsOf, Payload } from "./index.ts";

describe("CallError", () => {
  it("is recognised by its brand, not by its class", () => {
    const foreign = Object.assign(new Error("x"), { [Symbol.for("svc.CallError")]: true });
    expect(CallError.is(foreign)).toBe(true);
    expect(CallError.is(new Error("x"))).toBe(false);
    expect(CallError.is(undefined)).toBe(false);
  });

  it("has the facts of the table, and a handler's own code counts as run", () => {
    expect(new CallError("function_not_found", "x")).toMatchObject({
      retryable: true,
      httpStatus: 404,
      executed: "no",
    });
    expect(new CallError("order_expired", "x")).toMatchObject({ retryable: false, httpStatus: 500, executed: "yes" });
    expect(new CallError("invalid_input", "x", { details: { executed: "yes" } }).executed).toBe("yes");
    expect(new CallError("invalid_input", "x", { details: { executed: "never" } }).executed).toBe("no");
    expect(factsOf("toString").httpStatus).toBe(500);
  });

  it("converts any thrown value", () => {
    const own = new CallError("order_expired", "too late");
    expect(CallError.from(own)).toBe(own);
    expect(CallError.from(new Error("boom"))).toMatchObject({ code: "invocation_failed", message: "boom" });
    expect(CallError.from("boom")).toMatchObject({ code: "invocation_failed", message: "boom" });
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(CallError.from(circle).message).toContain("[object Object]");
  });

  it("does not send the cause", () => {
    expect(
      JSON.stringify(
        new CallError("invalid_input", "m", { cause: new Error("secret"), details: { field: "a" } }).toWire(),
      ),
    ).not.toContain("secret");
  });

  it("spells svc's codes in snake_case", () => {
    const published = new Set([
      "FORBIDDEN",
      "JSON_ERROR",
      "AUTH_ERROR",
      "NOT_FOUND",
      "INVALID_ARGUMENTS",
      "CONDITION_NOT_MET",
      "MIDDLEWARE_TIMEOUT",
      "UNKNOWN",
    ]);
    for (const code of Object.keys(errorCodes)) if (!published.has(code)) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });
});

describe("Payload", () => {
  it("parses only when the value is needed", () => {
    const unread = Payload.fromText('{"a":1}');
    expect(unread.text()).toBe('{"a":1}');
    expect(unread.value()).toEqual({ a: 1 });
    expect(unread.value()).toBe(unread.value());
  });

  it("throws if it is not JSON", () => {
    const broken = Payload.fromBytes(Buffer.from("{oops"));
    expect(broken.isJson()).toBe(false);
    expect(() => broken.value()).toThrow(expect.objectContaining({ code: "invalid_message" }));
  });

  it("converts undefined to null and rejects values that JSON cannot represent", () => {
    expect(Payload.fromValue(undefined).text()).toBe("null");
    expect(() => Payload.fromValue(1n)).toThrow(expect.objectContaining({ code: "serialization_error" }));
  });
});
