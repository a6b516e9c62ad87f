import { expect, it } from "vitest";
import { graphWith } from "../testing/graphs.ts";
import { collapsed, groupsOf } from "./groups.ts";

const graph = graphWith({
  nodes: ["function shop::a", "function shop::b", "function mail::send", "function plain", "state shop::a"],
  edges: [
    ["function shop::a", "function shop::b", "observed"],
    ["function shop::a", "function mail::send", "observed"],
    ["function shop::b", "function mail::send", "observed"],
    ["function plain", "function plain", "observed"],
    ["function shop::b", "state shop::a", "observed"],
  ],
});

it("returns prefixes that several functions share", () => {
  expect(groupsOf(graph)).toEqual([{ name: "shop", count: 2 }]);
});

it("collapses a group into one node with the outer edges and summed figures of its functions", () => {
  const { nodes, edges } = collapsed(graph, ["shop", "unknown"]);
  expect(nodes.map(({ id, calls, members }) => [id, calls, members?.map(({ label }) => label)])).toEqual([
    ["group shop", 2, ["shop::a", "shop::b"]],
    ["function mail::send", 1, undefined],
    ["function plain", 1, undefined],
    ["state shop::a", 1, undefined],
  ]);
  expect(edges.map(({ from, to, calls }) => [from, to, calls])).toEqual([
    ["group shop", "function mail::send", 2],
    ["function plain", "function plain", 1],
    ["group shop", "state shop::a", 1],
  ]);
});

it("returns the same graph if nothing is collapsed", () => {
  expect(collapsed(graph, undefined)).toBe(graph);
});
