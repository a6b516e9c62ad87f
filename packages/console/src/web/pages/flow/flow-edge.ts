import { type Edge, MarkerType } from "@xyflow/react";
import type { GraphEdge } from "../../model/flow-graph.ts";
import { countText } from "./model/count-text.ts";

/**
 * Converts an edge for React Flow. Declared edges are solid. Edges seen in traces are dashed, and wider with more
 * calls. If `lit` is set, edges outside it are dimmed. `isSample`: the counts are lower bounds.
 */
export function toFlowEdge(
  edge: GraphEdge,
  { lit, isSample }: { readonly lit: ReadonlySet<string> | undefined; readonly isSample: boolean },
): Edge {
  const color = edge.errors > 0 ? "var(--danger)" : "var(--line-strong)";
  const isObserved = edge.kind === "observed";
  const isDim = lit !== undefined && !(lit.has(edge.from) && lit.has(edge.to));
  return {
    id: JSON.stringify([edge.kind, edge.from, edge.to]),
    ...{
      source: edge.from,
      target: edge.to,
      label: isObserved ? countText(edge, isSample) : undefined,
    },
    style: {
      ...{
        stroke: color,
        strokeWidth: isObserved ? Math.min(5, 1 + Math.log2(edge.calls + 1) / 2) : 1.5,
        opacity: isDim ? 0.15 : 1,
      },
      ...(isObserved ? { strokeDasharray: "6 4" } : {}),
    },
    labelStyle: { fill: "var(--ink-2)", fontSize: 12, opacity: isDim ? 0.15 : 1 },
    labelBgStyle: { fill: "var(--canvas)" },
    markerEnd: { type: MarkerType.ArrowClosed, color, width: 14, height: 14, markerUnits: "userSpaceOnUse" },
  };
}
