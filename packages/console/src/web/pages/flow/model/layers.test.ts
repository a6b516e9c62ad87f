import { expect, it } from "vitest";
import { graphWith } from "../testing/graphs.ts";
import { withLayers } from "./layers.ts";

const graph = graphWith({
  nodes: ["function a", "function b", "trigger 1", "state orders", "queue mails"],
  edges: [
    ["trigger 1", "function a", "declared"],
    ["function a", "function b", "observed"],
    ["function a", "state orders", "observed"],
    ["queue mails", "trigger 1", "declared"],
  ],
});

it("shows all layers by default", () => {
  expect(withLayers(graph, undefined)).toBe(graph);
});

it("removes other layers with their edges, but keeps functions", () => {
  const ids = ({ nodes }: typeof graph) => nodes.map(({ id }) => id);
  const ways = ({ edges }: typeof graph) => edges.map(({ from, to }) => `${from} > ${to}`);
  const some = withLayers(graph, ["triggers", "state"]);
  expect(ids(some)).toEqual(["function a", "function b", "trigger 1", "state orders"]);
  expect(ways(some)).toEqual(["trigger 1 > function a"]);
  expect(ways(withLayers(graph, ["state", "calls"]))).toEqual(["function a > function b", "function a > state orders"]);
  expect(ids(withLayers(graph, []))).toEqual(["function a", "function b"]);
});
