import { expect, it } from "vitest";
import { graphWith } from "../testing/graphs.ts";
import { stepFrom } from "./step.ts";

const graph = graphWith({
  nodes: ["function a", "function b", "function c", "function d"],
  edges: [
    ["function a", "function b", "observed"],
    ["function a", "function c", "observed"],
    ["function a", "function a", "observed"],
  ],
});
const places = new Map([
  ["function a", { x: 0, y: 100 }],
  ["function b", { x: 400, y: 0 }],
  ["function c", { x: 400, y: 130 }],
  ["function d", { x: 410, y: 400 }],
]);
const step = (id: string, key: string, isVertical = false) => stepFrom(graph, places, id, key, isVertical);

it("goes along edges to the nearest neighbour, and back", () => {
  expect(step("function a", "ArrowRight")).toBe("function c");
  expect(step("function c", "ArrowLeft")).toBe("function a");
  expect(step("function c", "ArrowRight")).toBeUndefined();
});

it("goes to the next one of the same rank across the edges", () => {
  expect(step("function b", "ArrowDown")).toBe("function c");
  expect(step("function c", "ArrowDown")).toBe("function d");
  expect(step("function d", "ArrowUp")).toBe("function c");
  expect(step("function a", "ArrowDown")).toBeUndefined();
});

it("turns with the layout", () => {
  expect(step("function a", "ArrowDown", true)).toBe("function c");
  expect(step("function b", "ArrowUp", true)).toBe("function a");
  expect(step("function b", "ArrowLeft", true)).toBeUndefined();
});
