import { character } from "@svc-runtime/protocol/testing/arbitraries";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Fields, readHeaders, readUrlEncoded } from "./fields.ts";

function read(text: string): Fields {
  const fields = readUrlEncoded(text);
  if ("problem" in fields) throw new Error(fields.problem);
  return fields;
}

describe("url-encoded text", () => {
  it("keeps all values of a name, and the last one as its single value", () => {
    const { single, all } = read("a=1&b=&a=2&c&&=x");
    expect({ ...single }).toEqual({ a: "2", b: "", c: "", "": "x" });
    expect({ ...all }).toEqual({ a: ["1", "2"], b: [""], c: [""], "": ["x"] });
  });

  it("has __proto__ and constructor as ordinary names", () => {
    const { single, all } = read("__proto__=1&constructor=2&__proto__=3&toString=4");
    expect(JSON.stringify(single)).toBe('{"__proto__":"3","constructor":"2","toString":"4"}');
    expect(JSON.stringify(all)).toBe('{"__proto__":["1","3"],"constructor":["2"],"toString":["4"]}');
    expect(({} as Record<string, unknown>)["1"]).toBeUndefined();
  });

  it.each(["a=%", "a=%zz", "%ff=1", "a=%c3%28"])("%s is refused with a sentence", (text) => {
    expect(readUrlEncoded(text)).toEqual({ problem: expect.stringContaining(JSON.stringify(text)) });
  });

  it("gives back whatever names and values were encoded, as the standard parser does", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: character }), fc.string({ unit: character }))), (pairs) => {
        const text = new URLSearchParams(pairs).toString();
        const { single, all } = read(text);
        expect(new Map(Object.entries(single))).toEqual(new Map(pairs));
        for (const [name] of pairs)
          expect(all[name]).toEqual(pairs.filter(([other]) => other === name).map(([, value]) => value));
      }),
    );
  });

  it("never throws, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", "=", "&", "%", "+", "2", "c", "3", "\u00e9") }), (text) => {
        const fields = readUrlEncoded(text);
        if (!("problem" in fields)) expect(Object.keys(fields.single)).toEqual(Object.keys(fields.all));
      }),
    );
  });
});

describe("headers", () => {
  it("have lower-case names; repeats are joined, but for those that may stand only once", () => {
    const { single, all } = readHeaders([
      "X-Tag",
      "1",
      "x-tag",
      "2",
      "Cookie",
      "a=1",
      "Cookie",
      "b=2",
      "User-Agent",
      "first",
      "User-Agent",
      "second",
      "__proto__",
      "p",
    ]);
    expect(JSON.stringify(single)).toBe('{"x-tag":"1, 2","cookie":"a=1; b=2","user-agent":"first","__proto__":"p"}');
    expect(JSON.stringify(all)).toBe(
      '{"x-tag":["1","2"],"cookie":["a=1","b=2"],"user-agent":["first","second"],"__proto__":["p"]}',
    );
  });
});
