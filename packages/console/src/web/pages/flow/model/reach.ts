import type { Graph } from "../../../model/flow-graph.ts";

/** What can be reached from a node along the arrows. */
export function downstream(graph: Graph, start: string): ReadonlySet<string> {
  return reach(graph, start, Number.POSITIVE_INFINITY, ({ from, to }, at) => (from === at ? to : undefined));
}

/** A node and all within so many steps of it, either way. */
export function neighbourhood(graph: Graph, start: string, hops: number): ReadonlySet<string> {
  return reach(graph, start, hops, ({ from, to }, at) => (from === at ? to : to === at ? from : undefined));
}

function reach(graph: Graph, start: string, hops: number, step: (edge: Graph["edges"][number], at: string) => string | undefined): ReadonlySet<string> {
  const found = new Set([start]);
  let edge: readonly string[] = [start];
  for (let hop = 0; hop < hops && edge.length > 0; hop++) {
    const next = new Set<string>();
    for (const at of edge) {
      for (const each of graph.edges) {
        const to = step(each, at);
        if (to !== undefined && !found.has(to)) next.add(to);
      }
    }
    for (const id of next) found.add(id);
    edge = [...next];
  }
  return found;
}

export function only(graph: Graph, ids: ReadonlySet<string>): Graph {
  return { nodes: graph.nodes.filter(({ id }) => ids.has(id)), edges: graph.edges.filter(({ from, to }) => ids.has(from) && ids.has(to)) };
}
