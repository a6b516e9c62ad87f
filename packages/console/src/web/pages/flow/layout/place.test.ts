import { expect, it } from "vitest";
import { NODE, placeNodes, readPlaces, writePlaces } from "./place.ts";

const at = (x: number, y: number) => ({ x, y });

it("takes the automatic layout where nothing was kept", () => {
  const auto = new Map([
    ["a", at(0, 0)],
    ["b", at(300, 0)],
  ]);
  expect(placeNodes(["a", "b"], [], auto, new Map())).toEqual(auto);
});

it("leaves what was placed, and puts new nodes beside their neighbour without covering anybody", () => {
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
  const places = placeNodes(["a", "b", "c"], [{ from: "a", to: "c" }], auto, kept);
  expect(places.get("a")).toEqual(at(1000, 500));
  expect(places.get("b")).toEqual(at(1310, 590));
  expect(places.get("c")).toEqual(at(1300, 590 + NODE.height + 16));
  expect(places.has("missing")).toBe(false);
});

it("reads what it wrote, and leaves out what is no place", () => {
  const places = new Map([["function a", at(1, 2)]]);
  expect(readPlaces(JSON.parse(JSON.stringify(writePlaces(places))))).toEqual(places);
  expect(readPlaces({ positions: { a: [1, "2"], b: null, c: [3, 4] } })).toEqual(new Map([["c", at(3, 4)]]));
  expect(readPlaces(null)).toEqual(new Map());
});
