import { Graph, layout } from "@dagrejs/dagre";

/** What a layout is asked for, and answered with: the places of the nodes' corners. */
export interface LayoutRequest {
  readonly nodes: readonly { readonly id: string; readonly width: number; readonly height: number }[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  readonly direction: "LR" | "TB";
}
export type LayoutAnswer = readonly { readonly id: string; readonly x: number; readonly y: number }[];

self.addEventListener("message", ({ data }: MessageEvent<LayoutRequest>) => {
  const graph = new Graph();
  graph.setGraph({ rankdir: data.direction, nodesep: 40, ranksep: 150 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of data.nodes) graph.setNode(id, { width, height });
  for (const { from, to } of data.edges) graph.setEdge(from, to);
  layout(graph);
  const answer: LayoutAnswer = data.nodes.map(({ id, width, height }) => {
    const { x = 0, y = 0 } = graph.node(id) as { readonly x?: number; readonly y?: number };
    return { id, x: x - width / 2, y: y - height / 2 };
  });
  self.postMessage(answer);
});
