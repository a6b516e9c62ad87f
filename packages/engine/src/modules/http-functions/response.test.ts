import { describe, expect, it } from "vitest";
import { readResponse } from "./response.ts";

const read = (status: number, body = ""): unknown => readResponse("f", { status, body: Buffer.from(body) })?.value();

function failureOf(status: number, body: string | Buffer): unknown {
  try {
    return readResponse("f", { status, body: Buffer.from(body) });
  } catch (error) {
    const { code, message, details } = error as { code: string; message: string; details: unknown };
    return { code, message, details };
  }
}

describe("an HTTP answer", () => {
  it("with success and JSON is the result", () => {
    expect(read(200, '{"a":[1]}')).toEqual({ a: [1] });
    expect(read(201, " null ")).toBeNull();
    expect(read(299, '"x"')).toBe("x");
  });

  it("with success and no body has no result", () => {
    expect(readResponse("f", { status: 200, body: Buffer.alloc(0) })).toBeUndefined();
    expect(readResponse("f", { status: 204, body: Buffer.alloc(0) })).toBeUndefined();
  });

  it.each([["<html>"], [" "], ['{"a":'], [Buffer.from([0x22, 0xff, 0x22])], ["[".repeat(129) + "]".repeat(129)]])(
    "with success and something else than JSON is invalid_response",
    (body) => {
      expect(failureOf(200, body)).toMatchObject({ code: "invalid_response", details: { status: 200 } });
    },
  );

  it("that redirects is the result when it is JSON, and no result otherwise", () => {
    expect(read(302, '{"moved":true}')).toEqual({ moved: true });
    expect(readResponse("f", { status: 301, body: Buffer.from("<html>") })).toBeUndefined();
    expect(readResponse("f", { status: 304, body: Buffer.alloc(0) })).toBeUndefined();
  });

  it("of failure gives the code and message of its error", () => {
    expect(failureOf(409, '{"error":{"code":"sold_out","message":"nothing left"}}')).toEqual({
      code: "sold_out",
      message: "nothing left",
      details: { status: 409 },
    });
    expect(failureOf(500, '{"error":{}}')).toMatchObject({ code: "http_error", message: "HTTP request failed" });
    expect(failureOf(500, '{"error":{"code":7,"message":"m"}}')).toMatchObject({ code: "http_error", message: "m" });
    expect(failureOf(500, '{"error":{"code":"a\\u0000b"}}')).toMatchObject({ code: "http_error" });
  });

  it("of failure without such an error gives its status", () => {
    expect(failureOf(502, "<html>")).toEqual({
      code: "http_error",
      message: "HTTP 502 Bad Gateway",
      details: { status: 502 },
    });
    expect(failureOf(404, '{"error":"gone"}')).toMatchObject({ code: "http_error", message: "HTTP 404 Not Found" });
    expect(failureOf(400, '{"__proto__":{"error":{"code":"x"}}}')).toMatchObject({
      code: "http_error",
      message: "HTTP 400 Bad Request",
    });
    expect(failureOf(599, "")).toMatchObject({ message: "HTTP 599" });
    expect(failureOf(700, "{}")).toMatchObject({ code: "http_error", message: "HTTP 700" });
  });
});
