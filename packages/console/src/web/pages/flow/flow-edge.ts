import { type Edge, MarkerType } from "@xyflow/react";
import type { GraphEdge } from "../../model/flow-graph.ts";
import { countText } from "./model/count-text.ts";

export interface EdgeOptions {
  /** If set, edges outside it are dimmed. */
  readonly lit: ReadonlySet<string> | undefined;
  /** The counts are lower bounds. */
  readonly isSample: boolean;
  /** Returns what the edge connects. */
  readonly labelOf: (edge: GraphEdge) => string;
}

/**
 * Converts an edge for React Flow. Declared edges are solid. Edges seen in traces are dashed, and wider with more
 * calls.
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
