import type { Graph, GraphEdge, GraphNode } from "../../../model/flow-graph.ts";
import { prefixOf } from "../../../model/functions.ts";

export interface FlowGroup {
  readonly name: string;
  readonly count: number;
}

/** Prefixes that several functions share, by name. */
export function groupsOf(graph: Graph): readonly FlowGroup[] {
  const counts = new Map<string, number>();
  for (const node of graph.nodes) {
    const name = groupOf(node);
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].flatMap(([name, count]) => (count > 1 ? [{ name, count }] : [])).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The group that a function is of; undefined for everything else, and for functions without a prefix. */
export function groupOf({ kind, label }: GraphNode): string | undefined {
  return kind === "function" ? prefixOf(label) || undefined : undefined;
}

export function groupNode(name: string): string {
  return `group ${name}`;
}

/** The graph with each of these groups as one node, which has the edges of its functions, and what they count, together. */
export function collapsed(graph: Graph, closed: readonly string[] | undefined): Graph {
  const names = new Set(closed);
  if (names.size === 0) return graph;
  const standIn = new Map<string, string>();
  const nodes = new Map<string, GraphNode>();
  for (const node of graph.nodes) {
    const name = groupOf(node);
    if (name === undefined || !names.has(name)) {
      nodes.set(node.id, node);
      continue;
    }
    const id = groupNode(name);
    const before = nodes.get(id);
    standIn.set(node.id, id);
    nodes.set(id, {
      ...{ id, kind: "group", label: name, method: undefined, href: `/functions?q=${encodeURIComponent(name)}`, internal: node.internal, note: undefined },
      ...{ calls: node.calls + (before?.calls ?? 0), errors: node.errors + (before?.errors ?? 0) },
      ...{ now: { calls: node.now.calls + (before?.now.calls ?? 0), errors: node.now.errors + (before?.now.errors ?? 0) } },
      members: [...(before?.members ?? []), node],
    });
  }
  const edges = new Map<string, GraphEdge>();
  for (const edge of graph.edges) {
    const [from, to] = [standIn.get(edge.from) ?? edge.from, standIn.get(edge.to) ?? edge.to];
    // What its functions do among each other is inside.
    if (from === to && standIn.has(edge.from)) continue;
    const key = `${edge.kind}\n${from}\n${to}`;
    const before = edges.get(key);
    edges.set(key, { ...edge, from, to, calls: edge.calls + (before?.calls ?? 0), errors: edge.errors + (before?.errors ?? 0) });
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}
