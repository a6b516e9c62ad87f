import { Graph, layout } from "@dagrejs/dagre";

/** Request of a layout. The response has the positions of the nodes' corners. */
export interface LayoutRequest {
  readonly nodes: readonly { readonly id: string; readonly width: number; readonly height: number }[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  readonly direction: "LR" | "TB";
}
export type LayoutAnswer = readonly { readonly id: string; readonly x: number; readonly y: number }[];

type Box = LayoutRequest["nodes"][number];
const GAP = 40;
const MIN_PER_ROW = 3;

/**
 * Places boxes without edges in rows below the other boxes. A single column of them would make the graph so high that
 * everything is shown small.
 */
function below(answer: LayoutAnswer, inside: readonly Box[], alone: readonly Box[]): LayoutAnswer {
  const right = Math.max(0, ...answer.map(({ x }, at) => x + (inside[at]?.width ?? 0)));
  const bottom = Math.max(0, ...answer.map(({ y }, at) => y + (inside[at]?.height ?? 0) + GAP));
  const [width, height] = [
    Math.max(0, ...alone.map((box) => box.width)) + GAP,
    Math.max(0, ...alone.map((box) => box.height)) + GAP,
  ];
  const perRow = Math.max(MIN_PER_ROW, Math.floor((right + GAP) / width));
  return alone.map(({ id }, at) => ({ id, x: (at % perRow) * width, y: bottom + Math.floor(at / perRow) * height }));
}

self.addEventListener("message", ({ data }: MessageEvent<LayoutRequest>) => {
  const graph = new Graph();
  graph.setGraph({ rankdir: data.direction, nodesep: 40, ranksep: 100 });
  const joined = new Set(data.edges.flatMap(({ from, to }) => [from, to]));
  const [inside, alone] = [
    data.nodes.filter(({ id }) => joined.has(id)),
    data.nodes.filter(({ id }) => !joined.has(id)),
  ];
  for (const { id, width, height } of inside) graph.setNode(id, { width, height });
  for (const { from, to } of data.edges) graph.setEdge(from, to, {});
  layout(graph);
  const answer: LayoutAnswer = inside.map(({ id, width, height }) => {
    const { x = 0, y = 0 } = graph.node(id) as { readonly x?: number; readonly y?: number };
    return { id, x: x - width / 2, y: y - height / 2 };
  });
  self.postMessage([...answer, ...below(answer, inside, alone)] satisfies LayoutAnswer);
});
