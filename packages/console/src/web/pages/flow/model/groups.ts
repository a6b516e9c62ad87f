import type { Graph, GraphEdge, GraphNode } from "../../../model/flow-graph.ts";
import { prefixOf } from "../../../model/functions.ts";

export interface FlowGroup {
  readonly name: string;
  readonly count: number;
}

/** Returns the prefixes that several functions share, sorted by name. */
export function groupsOf(graph: Graph): readonly FlowGroup[] {
  const counts = new Map<string, number>();
  for (const node of graph.nodes) {
    const name = groupOf(node);
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .flatMap(([name, count]) => (count > 1 ? [{ name, count }] : []))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the group of a function; undefined for other nodes and for functions without a prefix. */
export function groupOf({ kind, label }: GraphNode): string | undefined {
  return kind === "function" ? prefixOf(label) || undefined : undefined;
}

export function groupNode(name: string): string {
  return `group ${name}`;
}

/**
 * Returns the graph with each of these groups collapsed into one node with the edges and summed figures of its
 * functions.
 */
export function collapsed(graph: Graph, closed: readonly string[] | undefined): Graph {
  const names = new Set(closed);
  if (names.size === 0) return graph;
  const groupIds = new Map<string, string>();
  const nodes = new Map<string, GraphNode>();
  for (const node of graph.nodes) {
    const name = groupOf(node);
    if (name === undefined || !names.has(name)) {
      nodes.set(node.id, node);
      continue;
    }
    const id = groupNode(name);
    const before = nodes.get(id);
    groupIds.set(node.id, id);
    nodes.set(id, {
      ...{
        id,
        kind: "group",
        label: name,
        method: undefined,
        href: `/functions?q=${encodeURIComponent(name)}`,
        internal: node.internal,
        note: undefined,
      },
      ...{ calls: node.calls + (before?.calls ?? 0), errors: node.errors + (before?.errors ?? 0) },
      ...{
        now: { calls: node.now.calls + (before?.now.calls ?? 0), errors: node.now.errors + (before?.now.errors ?? 0) },
      },
      members: [...(before?.members ?? []), node],
    });
  }
  const edges = new Map<string, GraphEdge>();
  for (const edge of graph.edges) {
    const [from, to] = [groupIds.get(edge.from) ?? edge.from, groupIds.get(edge.to) ?? edge.to];
    // Leaves out calls between functions of the same group.
    if (from === to && groupIds.has(edge.from)) continue;
    const key = `${edge.kind}\n${from}\n${to}`;
    const before = edges.get(key);
    edges.set(key, {
      ...edge,
      from,
      to,
      calls: edge.calls + (before?.calls ?? 0),
      errors: edge.errors + (before?.errors ?? 0),
    });
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}
