import { useEffect, useState } from "react";
import type { LayoutAnswer, LayoutRequest } from "../../../lib/graph-layout.worker.ts";
import type { Graph } from "../../../model/flow-graph.ts";
import { NODE, type Places } from "./place.ts";

/** The automatic layout, made beside the page; undefined until it is there. Figures that change do not lay out anew. */
export function useAutoLayout(graph: Graph, direction: "LR" | "TB"): { readonly shape: string; readonly places: Places } | undefined {
  const [layout, setLayout] = useState<{ readonly shape: string; readonly places: Places }>();
  const shape = JSON.stringify([direction, graph.nodes.map(({ id }) => id), graph.edges.map(({ from, to }) => [from, to])]);
  useEffect(() => {
    const [rankdir, ids, ways] = JSON.parse(shape) as ["LR" | "TB", string[], [string, string][]];
    const worker = new Worker(new URL("../../../lib/graph-layout.worker.ts", import.meta.url), { type: "module" });
    const request: LayoutRequest = { nodes: ids.map((id) => ({ id, ...NODE })), edges: ways.map(([from, to]) => ({ from, to })), direction: rankdir };
    worker.addEventListener("message", ({ data }: MessageEvent<LayoutAnswer>) =>
      setLayout({ shape, places: new Map(data.map(({ id, x, y }) => [id, { x, y }])) }),
    );
    worker.postMessage(request);
    return () => worker.terminate();
  }, [shape]);
  // One of another graph must not be taken for this one's: what was placed by it would stay there.
  return layout?.shape === shape ? layout : undefined;
}
