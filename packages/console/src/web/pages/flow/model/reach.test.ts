import { expect, it } from "vitest";
import { graphWith } from "../testing/graphs.ts";
import { downstream, neighbourhood, only } from "./reach.ts";

const CYCLE = graphWith({
  nodes: ["function a", "function b", "function c", "function d"],
  edges: [
    ["function a", "function b", "observed"],
    ["function b", "function c", "observed"],
    ["function c", "function a", "observed"],
    ["function d", "function a", "observed"],
  ],
});

it("finds downstream nodes, also in cycles, and neighbours", () => {
  expect([...downstream(CYCLE, "function a")].sort()).toEqual(["function a", "function b", "function c"]);
  expect([...neighbourhood(CYCLE, "function d", 1)]).toEqual(["function d", "function a"]);
  expect(only(CYCLE, neighbourhood(CYCLE, "function d", 1)).edges).toHaveLength(1);
});
