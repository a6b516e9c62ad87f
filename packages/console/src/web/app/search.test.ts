import { expect, it } from "vitest";
import { droppedParams, readSearch } from "./search.ts";

it("keeps valid parameters, reads a single value as a list, and numbers as text for text parameters", () => {
  expect(readSearch("streams", { q: 1234, sub: "orders:eu", system: true })).toEqual({
    q: "1234",
    sub: ["orders:eu"],
    system: true,
  });
  expect(readSearch("logs", { level: ["ERROR", 5], from: 17 })).toEqual({ level: ["ERROR", "5"], from: 17 });
  expect(droppedParams.get()).toEqual([]);
});

it("drops invalid parameters by setting them to undefined, since the router keeps missing ones, and reports them", () => {
  const read = readSearch("streams", { dir: "sideways", nonsense: 1, q: "x", sub: {} });
  expect(read).toEqual({ q: "x" });
  expect(Object.keys(read)).toEqual(expect.arrayContaining(["dir", "nonsense"]));
  expect(droppedParams.get()).toContain("dir");
  expect(droppedParams.get()).toContain("nonsense");
});
