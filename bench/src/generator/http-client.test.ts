import { describe, expect, it } from "vitest";
import { responseEnd } from "./http-client.ts";

describe("HTTP answers", () => {
  const whole = Buffer.from(
    'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"ok":true}',
  );

  it("are complete when the body has the content length", () => {
    expect(responseEnd(whole)).toEqual({ head: whole.length - 11, total: whole.length });
  });

  it("are not complete one byte before, nor within the head", () => {
    expect(responseEnd(whole.subarray(0, whole.length - 1))).toBeUndefined();
    expect(responseEnd(whole.subarray(0, 20))).toBeUndefined();
  });

  it("without a length are rejected with a clear error", () => {
    expect(() => responseEnd(Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))).toThrow(
      "without a content length",
    );
  });
});
