import { describe, expect, it } from "vitest";
import { jsonTextOf } from "./json-text.ts";

describe("the JSON text of a value", () => {
  it.each<[string, unknown, string | undefined]>([
    ["nulls and undefined members", { a: null, b: [null, undefined], c: undefined }, '{"a":null,"b":[null,null]}'],
    ["an invalid Date, which writes itself as null", { at: new Date(Number.NaN) }, '{"at":null}'],
    ["the word null", "null", '"null"'],
    ["numbers", [0, -1.5, 1e300], "[0,-1.5,1e+300]"],
    ["undefined", undefined, undefined],
  ])("is that of JSON.stringify for %s", (_what, value, text) => {
    expect(jsonTextOf(value)).toBe(text);
  });

  it.each<[unknown, string]>([
    [Number.NaN, "it is NaN"],
    [{ rows: [{ price: 1 }, { price: null, tax: Number.POSITIVE_INFINITY }] }, "rows[1].tax is Infinity"],
    [[Number.NEGATIVE_INFINITY], "[0] is -Infinity"],
  ])("refuses %j, which would arrive as null", (value, problem) => {
    expect(() => jsonTextOf(value)).toThrow(
      new TypeError(`${problem}, which JSON cannot represent; send null or a string instead`),
    );
  });

  it("is there for every depth that JSON.stringify can write", () => {
    let deep: unknown = null;
    for (let depth = 0; depth < 3_000; depth++) deep = { deep };
    expect(jsonTextOf(deep)).toBe(JSON.stringify(deep));
  });
});
