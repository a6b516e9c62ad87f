import { expect, it } from "vitest";
import { elementsOf, membersOf } from "./raw-json.ts";

it("cuts an object into the text of its members, to the digit", () => {
  const members = membersOf(' { "a" : 9007199254740993 , "b":{"c":[1,"]}",{"d":"\\"}"}]}, "\\u0061b": "x,y" } ');
  expect([...members]).toEqual([
    ["a", "9007199254740993"],
    ["b", '{"c":[1,"]}",{"d":"\\"}"}]}'],
    ["ab", '"x,y"'],
  ]);
});

it("cuts an array into the text of its elements", () => {
  expect(elementsOf('[1.10, {"a":[1,2]}, "]", []]')).toEqual(["1.10", '{"a":[1,2]}', '"]"', "[]"]);
  expect(elementsOf("[ ]")).toEqual([]);
  expect([...membersOf("{}")]).toEqual([]);
});

it("keeps a member called __proto__", () => {
  expect(membersOf('{"__proto__":1}').get("__proto__")).toBe("1");
});

it.each(["", "1", "[1", '{"a"', '{"a" 1}', '{"a":"x}', "{1:2}"])("refuses %j as an object", (text) => {
  expect(() => membersOf(text)).toThrow(SyntaxError);
});
