import { type Edge, MarkerType } from "@xyflow/react";
import type { GraphEdge } from "../../model/flow-graph.ts";
import { countText } from "./model/count-text.ts";

export interface EdgeOptions {
  /** Nodes that are highlighted. If it is set, edges that are not between them are dimmed. */
  readonly lit: ReadonlySet<string> | undefined;
  /** True if the counts are lower bounds. */
  readonly isSample: boolean;
  /** Returns a text that names both ends of the edge. */
  readonly labelOf: (edge: GraphEdge) => string;
}

/**
 * Converts an edge for React Flow. A declared edge is solid. An edge that was seen in traces is dashed, and wider the
 * more calls it has.
 */
export function toFlowEdge(edge: GraphEdge, { lit, isSample, labelOf }: EdgeOptions): Edge {
  const color = edge.errors > 0 ? "var(--danger)" : "var(--line-strong)";
  const isObserved = edge.kind === "observed";
  const opacity = lit === undefined || (lit.has(edge.from) && lit.has(edge.to)) ? 1 : 0.15;
  return {
    id: JSON.stringify([edge.kind, edge.from, edge.to]),
    ...{
      source: edge.from,
      target: edge.to,
      ariaLabel: labelOf(edge),
      label: isObserved ? countText(edge, isSample) : undefined,
    },
    style: {
      stroke: color,
      opacity,
      ...(isObserved
        ? { strokeWidth: Math.min(5, 1 + Math.log2(edge.calls + 1) / 2), strokeDasharray: "6 4" }
        : { strokeWidth: 1.5 }),
    },
    labelStyle: { fill: "var(--ink-2)", fontSize: 12, opacity },
    labelBgStyle: { fill: "var(--canvas)" },
    markerEnd: { type: MarkerType.ArrowClosed, color, width: 14, height: 14, markerUnits: "userSpaceOnUse" },
  };
}
