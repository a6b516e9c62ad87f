import type { Graph } from "../../../model/flow-graph.ts";

/** Returns a node and all nodes reachable from it along the edges. */
export function downstream(graph: Graph, start: string): ReadonlySet<string> {
  return reach(graph, start, Number.POSITIVE_INFINITY, ({ from, to }, at) => (from === at ? to : undefined));
}

/** Returns a node and all nodes within this many steps of it, in both directions. */
export function neighbourhood(graph: Graph, start: string, hops: number): ReadonlySet<string> {
  return reach(graph, start, hops, ({ from, to }, at) => (from === at ? to : to === at ? from : undefined));
}

function reach(
  graph: Graph,
  start: string,
  hops: number,
  step: (edge: Graph["edges"][number], at: string) => string | undefined,
): ReadonlySet<string> {
  const found = new Set([start]);
  let frontier: readonly string[] = [start];
  for (let hop = 0; hop < hops && frontier.length > 0; hop++) {
    const next = new Set<string>();
    for (const at of frontier) {
      for (const each of graph.edges) {
        const to = step(each, at);
        if (to !== undefined && !found.has(to)) next.add(to);
      }
    }
    for (const id of next) found.add(id);
    frontier = [...next];
  }
  return found;
}

/** Returns the graph with only these nodes and the edges between them. */
export function only(graph: Graph, ids: ReadonlySet<string>): Graph {
  return {
    nodes: graph.nodes.filter(({ id }) => ids.has(id)),
    edges: graph.edges.filter(({ from, to }) => ids.has(from) && ids.has(to)),
  };
}
