import { expect, it } from "vitest";
import { NODE, placeNodes, readPositions, writePositions } from "./positions.ts";

const at = (x: number, y: number) => ({ x, y });

it("uses the automatic layout if no positions are saved", () => {
  const auto = new Map([
    ["a", at(0, 0)],
    ["b", at(300, 0)],
  ]);
  expect(placeNodes(["a", "b"], [], auto, new Map())).toEqual(auto);
});

it("keeps saved positions, and puts new nodes beside a neighbour without overlap", () => {
  const auto = new Map([
    ["a", at(0, 0)],
    ["b", at(300, 0)],
    ["c", at(300, 80)],
  ]);
  const kept = new Map([
    ["a", at(1000, 500)],
    ["b", at(1310, 590)],
    ["missing", at(5, 5)],
  ]);
  const positions = placeNodes(["a", "b", "c"], [{ from: "a", to: "c" }], auto, kept);
  expect(positions.get("a")).toEqual(at(1000, 500));
  expect(positions.get("b")).toEqual(at(1310, 590));
  expect(positions.get("c")).toEqual(at(1300, 590 + NODE.height + 16));
  expect(positions.has("missing")).toBe(false);
});

it("reads what it wrote, and ignores invalid positions", () => {
  const positions = new Map([["function a", at(1, 2)]]);
  expect(readPositions(JSON.parse(JSON.stringify(writePositions(positions))))).toEqual(positions);
  expect(readPositions({ positions: { a: [1, "2"], b: null, c: [3, 4] } })).toEqual(new Map([["c", at(3, 4)]]));
  expect(readPositions(null)).toEqual(new Map());
});
