import { expect, it } from "vitest";
import { droppedParams, readSearch } from "./search.ts";

it("keeps what fits, reads one of a list as a list, and numbers as texts where a text is meant", () => {
  expect(readSearch("streams", { q: 1234, sub: "orders:eu", system: true })).toEqual({ q: "1234", sub: ["orders:eu"], system: true });
  expect(readSearch("logs", { level: ["ERROR", 5], from: 17 })).toEqual({ level: ["ERROR", "5"], from: 17 });
  expect(droppedParams.get()).toEqual([]);
});

it("drops what does not fit by naming it undefined, since the router hands on what is not named, and tells of it", () => {
  const read = readSearch("streams", { dir: "sideways", nonsense: 1, q: "x", sub: {} });
  expect(read).toEqual({ q: "x" });
  expect(Object.keys(read)).toEqual(expect.arrayContaining(["dir", "nonsense"]));
  expect(droppedParams.get()).toContain("dir");
  expect(droppedParams.get()).toContain("nonsense");
});
