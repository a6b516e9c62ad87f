import { expect, it } from "vitest";
import { aligned } from "./align.ts";
import { GAP, NODE } from "./positions.ts";

const positions = new Map([
  ["a", { x: 0, y: 0 }],
  ["b", { x: 500, y: 100 }],
  ["c", { x: 1000, y: 110 }],
  ["d", { x: 7, y: 7 }],
]);
const ids = ["a", "b", "c"];
const of = (moved: ReturnType<typeof aligned>) => [...ids, "d"].map((id) => moved.get(id));

it("aligns the selected nodes in a column or row without overlap", () => {
  expect(of(aligned(positions, ids, "left"))).toEqual([
    { x: 0, y: 0 },
    { x: 0, y: 100 },
    { x: 0, y: 100 + NODE.height + GAP },
    { x: 7, y: 7 },
  ]);
  expect(of(aligned(positions, ids, "top"))).toEqual([
    { x: 0, y: 0 },
    { x: 500, y: 0 },
    { x: 1000, y: 0 },
    { x: 7, y: 7 },
  ]);
});

it("distributes the selected nodes evenly", () => {
  const down = (NODE.height + GAP) * 2;
  expect(of(aligned(positions, ids, "across"))).toEqual([
    { x: 0, y: 0 },
    { x: 500, y: 100 },
    { x: 1000, y: 110 },
    { x: 7, y: 7 },
  ]);
  expect(of(aligned(positions, ids, "down"))).toEqual([
    { x: 0, y: 0 },
    { x: 500, y: down / 2 },
    { x: 1000, y: down },
    { x: 7, y: 7 },
  ]);
});

it("does nothing with a single node", () => {
  expect(aligned(positions, ["a", "gone"], "left")).toBe(positions);
});
