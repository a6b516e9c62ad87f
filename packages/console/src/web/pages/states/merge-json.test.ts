import { expect, it } from "vitest";
import { formatJson, parseJson } from "../../lib/json.ts";
import { mergeJson } from "./merge-json.ts";

function merged(base: string, mine: string, theirs: string) {
  const { value, conflicts } = mergeJson(parseJson(base), parseJson(mine), parseJson(theirs));
  return { value: formatJson(value, 0), conflicts };
}

it("merges changes of different members, at any depth", () => {
  expect(merged('{"a":1,"b":{"c":1,"d":1}}', '{"a":2,"b":{"c":1,"d":1}}', '{"a":1,"b":{"c":1,"d":3},"e":4}')).toEqual({
    value: '{"a":2,"b":{"c":1,"d":3},"e":4}',
    conflicts: [],
  });
});

it("deletes a member that one side deleted and the other did not change", () => {
  expect(merged('{"a":1,"b":2}', '{"b":2}', '{"a":1,"b":3}')).toEqual({ value: '{"b":3}', conflicts: [] });
});

it("keeps mine where both changed the same member, and reports the conflict", () => {
  expect(merged('{"a":1,"l":[1]}', '{"a":2,"l":[1,2]}', '{"a":3,"l":[0]}')).toEqual({
    value: '{"a":2,"l":[1,2]}',
    conflicts: ["$.a", "$.l"],
  });
});

it("reports a conflict if one side deleted a member and the other changed it", () => {
  expect(merged('{"a":1}', "{}", '{"a":2}')).toEqual({ value: "{}", conflicts: ["$.a"] });
  expect(merged('{"a":1}', '{"a":2}', "{}")).toEqual({ value: '{"a":2}', conflicts: ["$.a"] });
});

it("distinguishes numbers that are equal in JavaScript", () => {
  expect(merged("9007199254740993", "9007199254740993", "9007199254740995")).toEqual({
    value: "9007199254740995",
    conflicts: [],
  });
  expect(merged("1", "9007199254740993", "9007199254740995").conflicts).toEqual(["$"]);
});

it("distinguishes null, false, 0 and a missing member", () => {
  expect(merged('{"a":0,"b":null}', '{"a":false}', '{"a":0,"b":null}')).toEqual({
    value: '{"a":false}',
    conflicts: [],
  });
});
