import { expect, it } from "vitest";
import { graphWith } from "../testing/graphs.ts";
import { downstream, neighbourhood, only } from "./reach.ts";

const RING = graphWith({
  nodes: ["function a", "function b", "function c", "function d"],
  edges: [
    ["function a", "function b", "observed"],
    ["function b", "function c", "observed"],
    ["function c", "function a", "observed"],
    ["function d", "function a", "observed"],
  ],
});

it("finds what a node leads to, in circles too, and what is around it", () => {
  expect([...downstream(RING, "function a")].sort()).toEqual(["function a", "function b", "function c"]);
  expect([...neighbourhood(RING, "function d", 1)]).toEqual(["function d", "function a"]);
  expect(only(RING, neighbourhood(RING, "function d", 1)).edges).toHaveLength(1);
});
