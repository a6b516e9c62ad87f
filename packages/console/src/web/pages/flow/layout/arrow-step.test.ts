import { expect, it } from "vitest";
import { graphWith } from "../testing/graphs.ts";
import { stepFrom } from "./arrow-step.ts";

const graph = graphWith({
  nodes: ["function a", "function b", "function c", "function d"],
  edges: [
    ["function a", "function b", "observed"],
    ["function a", "function c", "observed"],
    ["function a", "function a", "observed"],
  ],
});
const positions = new Map([
  ["function a", { x: 0, y: 100 }],
  ["function b", { x: 400, y: 0 }],
  ["function c", { x: 400, y: 130 }],
  ["function d", { x: 410, y: 400 }],
]);
const step = (id: string, key: string, isVertical = false) => stepFrom(graph, positions, id, key, isVertical);

it("follows edges to the nearest neighbour, and back", () => {
  expect(step("function a", "ArrowRight")).toBe("function c");
  expect(step("function c", "ArrowLeft")).toBe("function a");
  expect(step("function c", "ArrowRight")).toBeUndefined();
});

it("moves to the next node of the same rank across the edges", () => {
  expect(step("function b", "ArrowDown")).toBe("function c");
  expect(step("function c", "ArrowDown")).toBe("function d");
  expect(step("function d", "ArrowUp")).toBe("function c");
  expect(step("function a", "ArrowDown")).toBeUndefined();
});

it("swaps the axes in a vertical layout", () => {
  expect(step("function a", "ArrowDown", true)).toBe("function c");
  expect(step("function b", "ArrowUp", true)).toBe("function a");
  expect(step("function b", "ArrowLeft", true)).toBeUndefined();
});
