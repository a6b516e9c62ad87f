import { expect, it } from "vitest";
import type { Graph } from "../../../model/flow-graph.ts";
import { graphWith } from "../testing/graphs.ts";
import { closedByDefault, collapsed, groupsOf } from "./groups.ts";

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
  expect(groupsOf(graph)).toEqual([{ key: "shop", by: "prefix", name: "shop", count: 2 }]);
});

/** Two workers with functions, each with an HTTP trigger, and a topic that starts a function of the second. */
function system(functions: number): Graph {
  const ids = (worker: string): string[] => Array.from({ length: functions }, (_, at) => `${worker}${at}::run`);
  const both = [...ids("a"), ...ids("b")];
  const plain = graphWith({
    nodes: [...both.flatMap((id) => [`http ${id}`, `function ${id}`]), "topic paid", "event paid"],
    edges: [
      ...both.map((id) => [`http ${id}`, `function ${id}`, "declared"] as const),
      ["topic paid", "event paid", "declared"],
      ["event paid", "function b0::run", "declared"],
      ["function a0::run", "function b0::run", "observed"],
    ],
  });
  return {
    edges: plain.edges,
    nodes: plain.nodes.map((node) =>
      node.kind === "function"
        ? { ...node, worker: node.label.slice(0, 1) }
        : node.kind === "topic"
          ? node
          : { ...node, triggerType: node.kind },
    ),
  };
}

it("collapses the workers of a graph of more than 40 nodes, with the triggers of their functions", () => {
  const small = system(5);
  expect(closedByDefault(small, groupsOf(small), undefined)).toEqual([]);
  const large = system(10);
  const closed = closedByDefault(large, groupsOf(large), undefined);
  expect(closedByDefault(large, groupsOf(large), "function a3::run")).toEqual(["worker:b"]);
  expect(closed).toEqual(["worker:a", "worker:b"]);
  const { nodes, edges } = collapsed(large, closed);
  expect(nodes.map(({ id, label, members }) => [id, label, members?.length])).toEqual([
    ["group worker:a", "a", 20],
    ["group worker:b", "b", 21],
    ["topic paid", "paid", undefined],
  ]);
  expect(edges.map(({ from, to, kind }) => [from, to, kind])).toEqual([
    ["topic paid", "group worker:b", "declared"],
    ["group worker:a", "group worker:b", "observed"],
  ]);
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
