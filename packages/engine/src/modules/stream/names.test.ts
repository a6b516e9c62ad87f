import { character } from "@svc-runtime/protocol/testing/arbitraries";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { groupNameProblem, namesOfScope, scopeOf, scopePrefixOf, streamNameProblem } from "./names.ts";

describe("names of streams and groups", () => {
  it.each([
    ["", /empty/],
    ["  ", /empty/],
    ["a\u001fb", /control character/],
    ["a\nb", /control character/],
    ["é".repeat(129), /longer than 256 bytes/],
    ["x".repeat(10_240), /longer than 256 bytes/],
    ["\ud800", /unpaired surrogate/],
    ["svc.workers", /reserved for the engine/],
    ["svc.", /reserved for the engine/],
  ])("refuse %j", (name, problem) => {
    expect(streamNameProblem(name)).toMatch(problem);
  });

  it.each(["todos", "a:b", "stream:a:b", "é".repeat(128), "😀", "__proto__", "constructor", "a/b", "svc", "svcs.x"])(
    "take %j",
    (name) => {
      expect(streamNameProblem(name)).toBeUndefined();
      expect(groupNameProblem(name)).toBeUndefined();
    },
  );

  it("stand in a scope without doubt about where one ends, whatever they hold", () => {
    const names = fc
      .string({ unit: character, minLength: 1, maxLength: 20 })
      .filter((name) => groupNameProblem(name) === undefined);
    fc.assert(
      fc.property(names, names, names, (stream, group, other) => {
        expect(namesOfScope(scopeOf(stream, group))).toEqual({ stream, group });
        expect(scopeOf(stream, group).startsWith(scopePrefixOf(other))).toBe(stream === other);
      }),
    );
  });
});
