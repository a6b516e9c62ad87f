import { expect, it } from "vitest";
import { graphJson, svgOf } from "./flow-export.ts";
import { graphWith } from "./testing/graphs.ts";

const graph = graphWith({
  nodes: ["function a<b>", "function c"],
  edges: [["function a<b>", "function c", "observed"]],
});
const color = (token: string) => token;

it("draws edges from right to left sides, or from bottom to top sides in a vertical layout", () => {
  const beside = new Map([
    ["function a<b>", { x: 0, y: 0 }],
    ["function c", { x: 400, y: 0 }],
  ]);
  const below = new Map([
    ["function a<b>", { x: 0, y: 0 }],
    ["function c", { x: 0, y: 200 }],
  ]);
  expect(svgOf(graph, beside, { isVertical: false, isSample: false }, color)).toContain(
    'd="M220 26C310 26 310 26 400 26"',
  );
  expect(svgOf(graph, below, { isVertical: true, isSample: false }, color)).toContain(
    'd="M110 52C110 126 110 126 110 200"',
  );
});

it("says that the counts of a sample are lower bounds", () => {
  const beside = new Map(["function a<b>", "function c"].map((id, at) => [id, { x: at * 400, y: 0 }]));
  expect(svgOf(graph, beside, { isVertical: false, isSample: true }, color)).toContain(">≥1×<");
  expect(svgOf(graph, beside, { isVertical: false, isSample: false }, color)).toContain(">1×<");
});

it("escapes names, and references nothing external", () => {
  const svg = svgOf(graph, new Map(), { isVertical: false, isSample: true }, color);
  expect(svg).toContain("a&lt;b&gt;");
  expect(svg.match(/https?:[^"]*/g)).toEqual(["http://www.w3.org/2000/svg"]);
});

it("exports positions and edges as JSON", () => {
  const { nodes, edges } = JSON.parse(graphJson(graph, new Map([["function c", { x: 1, y: 2 }]])));
  expect(nodes.map(({ id, position }: { id: string; position: unknown }) => [id, position])).toEqual([
    ["function a<b>", null],
    ["function c", { x: 1, y: 2 }],
  ]);
  expect(edges).toEqual([{ from: "function a<b>", to: "function c", kind: "observed", calls: 1, errors: 0 }]);
});
