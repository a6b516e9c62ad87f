import type { Graph } from "../../../model/flow-graph.ts";
import type { Positions } from "./positions.ts";

/** Returns the graph with its nodes sorted rank by rank. Tab visits them in this order. */
export function readingOrder(graph: Graph, positions: Positions, isVertical: boolean): Graph {
  const at = (id: string): { readonly x: number; readonly y: number } => positions.get(id) ?? { x: 0, y: 0 };
  const [first, then] = isVertical ? (["y", "x"] as const) : (["x", "y"] as const);
  const nodes = [...graph.nodes].sort((a, b) => at(a.id)[first] - at(b.id)[first] || at(a.id)[then] - at(b.id)[then]);
  return { ...graph, nodes };
}
