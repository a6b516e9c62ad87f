import { type CallError, MAX_DEPTH, Payload } from "@svc-runtime/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { storedJson } from "./stored-json.ts";

const limits = { name: "value", maxBytes: 1_000, limit: "max_value_bytes of a test" };

function stored(text: string): string {
  return storedJson(Payload.fromText(text), limits).json;
}

describe("the text under which a value is stored", () => {
  it.each(["9007199254740993", "-0", "1e400", "1.0", "0.10", "[12345678901234567890.123456789012345678901234567890]"])(
    "keeps the digits of %s",
    (text) => {
      expect(stored(text)).toBe(text);
    },
  );

  it("is the same for one value written with and without white space and escapes", () => {
    const compact = '{"a b":[1,"x y\\n","é/","\\ud800"],"":{}}';
    expect(stored('\n{ "a b" : [ 1 ,\t"x y\\u000a", "\\u00e9\\/", "\\uD800" ],\r"" : { } } ')).toBe(compact);
    expect(stored(compact)).toBe(compact);
  });

  it("says what it said, for any JSON in any indentation", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 3 }), (value, indent) => {
        expect(
          storedJson(Payload.fromText(JSON.stringify(value, undefined, indent)), { ...limits, maxBytes: 1e9 }).json,
        ).toBe(JSON.stringify(value));
      }),
    );
  });

  it("counts bytes of UTF-8, and names size and limit of a value that is too large", () => {
    expect(storedJson(Payload.fromText('"é"'), limits)).toEqual({ json: '"é"', bytes: 4 });
    expect(() => stored(JSON.stringify("é".repeat(500)))).toThrow(
      "`value`: is 1002 bytes of JSON; at most 1000 are allowed (max_value_bytes of a test)",
    );
  });

  it(`keeps ${MAX_DEPTH} levels and refuses one more, naming the depth`, () => {
    const nested = (levels: number): string => `${'{"a":['.repeat(levels / 2)}${"]}".repeat(levels / 2)}`;
    expect(stored(nested(MAX_DEPTH))).toBe(nested(MAX_DEPTH));
    const refused = (() => {
      try {
        return stored(`[${nested(MAX_DEPTH)}]`);
      } catch (thrown) {
        return thrown as CallError;
      }
    })();
    expect(refused).toMatchObject({ code: "invalid_input", message: "`value`: is nested deeper than 128 levels" });
  });

  it("is found in time that grows with the text, whatever stands in it", () => {
    const quotes = JSON.stringify(Array.from({ length: 100_000 }, () => "a"));
    // A quadratic algorithm would exceed the test's timeout.
    storedJson(Payload.fromText(`["\\u00e9",${quotes}]`), { ...limits, maxBytes: 1e9 });
    storedJson(Payload.fromText(JSON.stringify("\\".repeat(500_000))), { ...limits, maxBytes: 1e9 });
  });
});
