import { useEffect, useState } from "react";
import type { LayoutAnswer, LayoutRequest } from "../../../lib/graph-layout.worker.ts";
import type { Graph } from "../../../model/flow-graph.ts";
import { NODE, type Positions } from "./positions.ts";

/**
 * Returns the automatic layout, which a web worker computes. It is undefined until it is ready. Changed figures do not
 * cause a new layout.
 */
export function useAutoLayout(
  graph: Graph,
  direction: "LR" | "TB",
): { readonly shape: string; readonly positions: Positions } | undefined {
  const [layout, setLayout] = useState<{ readonly shape: string; readonly positions: Positions }>();
  const shape = JSON.stringify([
    direction,
    graph.nodes.map(({ id }) => id),
    graph.edges.map(({ from, to }) => [from, to]),
  ]);
  useEffect(() => {
    const [rankdir, ids, edges] = JSON.parse(shape) as ["LR" | "TB", string[], [string, string][]];
    const worker = new Worker(new URL("../../../lib/graph-layout.worker.ts", import.meta.url), { type: "module" });
    const request: LayoutRequest = {
      nodes: ids.map((id) => ({ id, ...NODE })),
      edges: edges.map(([from, to]) => ({ from, to })),
      direction: rankdir,
    };
    worker.addEventListener("message", ({ data }: MessageEvent<LayoutAnswer>) =>
      setLayout({ shape, positions: new Map(data.map(({ id, x, y }) => [id, { x, y }])) }),
    );
    worker.postMessage(request);
    return () => worker.terminate();
  }, [shape]);
  // The layout of an earlier graph must not be used, because nodes keep the first position that they get.
  return layout?.shape === shape ? layout : undefined;
}
