import { expect, it } from "vitest";
import { fromJson, toJson } from "./entry-json.ts";

it.each([
  null,
  [1, "é", true, { a: [{}] }],
  new Uint8Array([0, 255]),
  { deep: [{ bytes: new Uint8Array([1]) }] },
  { $bytes: "text", $escaped: [["a", 1]] },
  JSON.parse('{"__proto__": 1}'),
])("%j is read from an entry as it was written", (value) => {
  expect(fromJson(toJson(value))).toEqual(value);
});

it.each([Number.POSITIVE_INFINITY, 1n, new Map(), () => {}])("%s is refused, because it would be changed", (value) => {
  expect(() => toJson({ value })).toThrow(TypeError);
});
