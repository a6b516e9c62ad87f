import { expect, it } from "vitest";
import { isSameJson, jsonProblem, pretty } from "./json-text.ts";

it("formats JSON without changing its numbers", () => {
  expect(pretty('{"n":9007199254740993,"f":1.10}')).toBe('{\n  "n": 9007199254740993,\n  "f": 1.10\n}');
});

it("does not format JSON that would change: duplicate names, __proto__", () => {
  expect(pretty('{"a":1,"a":2}')).toBe('{"a":1,"a":2}');
  expect(pretty('{"__proto__":{"x":1}}')).toBe('{"__proto__":{"x":1}}');
});

it("compares without white space, and distinguishes numbers that JavaScript rounds to the same", () => {
  expect(isSameJson('{"a": [1, 2]}', '{"a":[1,2]}')).toBe(true);
  expect(isSameJson("9007199254740993", "9007199254740992")).toBe(false);
});

it("explains why a text is not JSON", () => {
  expect(jsonProblem("")).toContain("empty");
  expect(jsonProblem("{a:1}")).toBeDefined();
  for (const json of ["null", "0", '""', "false", "9007199254740993"]) expect(jsonProblem(json)).toBeUndefined();
});
