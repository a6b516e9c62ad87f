import type { Graph, GraphEdge, GraphNode, NodeKind } from "../../../model/flow-graph.ts";

/** Returns a graph of nodes with IDs `kind name`. Each observed edge has one call. */
export function graphWith({
  nodes,
  edges,
}: {
  readonly nodes: readonly string[];
  readonly edges: readonly (readonly [string, string, GraphEdge["kind"]])[];
}): Graph {
  return {
    nodes: nodes.map((id): GraphNode => {
      const [kind, label] = [id.slice(0, id.indexOf(" ")) as NodeKind, id.slice(id.indexOf(" ") + 1)];
      return {
        id,
        kind,
        label,
        method: undefined,
        href: "/",
        internal: false,
        calls: 1,
        errors: 0,
        now: { calls: 0, errors: 0 },
        note: undefined,
      };
    }),
    edges: edges.map(([from, to, kind]) => ({ from, to, kind, calls: kind === "observed" ? 1 : 0, errors: 0 })),
  };
}
