import { expect, it } from "vitest";
import { isSameJson, jsonProblem, pretty } from "./json-text.ts";

it("lays JSON out without touching its numbers", () => {
  expect(pretty('{"n":9007199254740993,"f":1.10}')).toBe('{\n  "n": 9007199254740993,\n  "f": 1.10\n}');
});

it("leaves alone what laying out would change: a name twice, __proto__", () => {
  expect(pretty('{"a":1,"a":2}')).toBe('{"a":1,"a":2}');
  expect(pretty('{"__proto__":{"x":1}}')).toBe('{"__proto__":{"x":1}}');
});

it("compares without white space, and tells numbers apart that JavaScript takes for one", () => {
  expect(isSameJson('{"a": [1, 2]}', '{"a":[1,2]}')).toBe(true);
  expect(isSameJson("9007199254740993", "9007199254740992")).toBe(false);
});

it("says why a text is no JSON", () => {
  expect(jsonProblem("")).toContain("nothing");
  expect(jsonProblem("{a:1}")).toBeDefined();
  for (const json of ["null", "0", '""', "false", "9007199254740993"]) expect(jsonProblem(json)).toBeUndefined();
});
