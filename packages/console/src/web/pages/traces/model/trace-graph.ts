import { endOf, type TraceForest } from "../../../model/span-forest.ts";

export interface GraphNode {
  readonly id: string;
  readonly spans: number;
  readonly errors: number;
  readonly totalMs: number;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly calls: number;
  readonly errors: number;
  readonly avgMs: number;
}

/**
 * Builds the graph of services. If the parent of a span belongs to another service, the span counts as a call between
 * the two.
 */
export function graphOf(
  forest: TraceForest,
  nowMs: number,
): { readonly nodes: readonly GraphNode[]; readonly edges: readonly GraphEdge[] } {
  const nodes = new Map<string, { spans: number; errors: number; totalMs: number }>();
  const edges = new Map<string, { from: string; to: string; calls: number; errors: number; totalMs: number }>();
  for (const node of forest.nodes) {
    if (node.span === undefined) continue;
    const length = endOf(node, nowMs) - node.startMs;
    const isError = node.status === "error" ? 1 : 0;
    const own = nodes.get(node.service) ?? { spans: 0, errors: 0, totalMs: 0 };
    nodes.set(node.service, { spans: own.spans + 1, errors: own.errors + isError, totalMs: own.totalMs + length });
    const from = node.parent?.span?.service_name;
    if (from === undefined || from === node.service) continue;
    const key = JSON.stringify([from, node.service]);
    const edge = edges.get(key) ?? { from, to: node.service, calls: 0, errors: 0, totalMs: 0 };
    edges.set(key, { ...edge, calls: edge.calls + 1, errors: edge.errors + isError, totalMs: edge.totalMs + length });
  }
  return {
    nodes: [...nodes].map(([id, figures]) => ({ id, ...figures })),
    edges: [...edges.values()].map(({ totalMs, ...edge }) => ({ ...edge, avgMs: totalMs / edge.calls })),
  };
}
