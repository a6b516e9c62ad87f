import { expect, it } from "vitest";
import { newIds } from "./use-new-rows.ts";

const known = new Set(["a", "b"]);

it("finds rows that were not there before", () => {
  expect(newIds(["n", "a", "b"], known, false)).toEqual(["n"]);
  expect(newIds(["a", "b", "n"], known, false)).toEqual(["n"]);
  expect(newIds(["b"], known, false)).toEqual([]);
});

it("does not count older rows that were loaded at the end", () => {
  expect(newIds(["n", "a", "b", "older", "oldest"], known, true)).toEqual(["n"]);
  expect(newIds(["x", "y"], known, true)).toEqual([]);
});
