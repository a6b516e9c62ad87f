import type { Graph, GraphEdge, GraphNode } from "../../model/flow-graph.ts";
import { columnOf } from "./flow-overview.ts";

export const NODE_HEIGHT = 34;
const GAP = 8;
export const HEADER = 26;

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

export interface Layout {
  readonly boxes: ReadonlyMap<string, Box>;
  readonly height: number;
  /** Left edge and width of each column. */
  readonly columns: readonly { readonly x: number; readonly width: number }[];
}

/** Returns a layout of three columns, each centred vertically. */
export function layoutOf({ nodes }: Pick<Graph, "nodes">, width: number): Layout {
  const between = Math.min(120, Math.max(48, width * 0.09));
  const inner = width - 2 * between;
  const widths = [inner * 0.34, inner * 0.42, inner * 0.24];
  const columns = widths.map((each, at) => ({
    x: widths.slice(0, at).reduce((sum, before) => sum + before, 0) + at * between,
    width: each,
  }));
  const nodesOf = (at: number): readonly GraphNode[] => nodes.filter((node) => columnOf(node) === at);
  const longest = Math.max(1, ...[0, 1, 2].map((at) => nodesOf(at).length));
  const boxes = new Map<string, Box>();
  for (const [at, { x, width: columnWidth }] of columns.entries()) {
    const here = nodesOf(at);
    const free = ((longest - here.length) * (NODE_HEIGHT + GAP)) / 2;
    for (const [row, { id }] of here.entries())
      boxes.set(id, { x, y: HEADER + free + row * (NODE_HEIGHT + GAP), width: columnWidth });
  }
  return { boxes, columns, height: HEADER + longest * (NODE_HEIGHT + GAP) };
}

/**
 * Returns the SVG path of an edge. It goes from the right side of one box to the left side of the other. If both boxes
 * are in the same column, the path bends around their right sides.
 */
export function pathOf(edge: GraphEdge, boxes: ReadonlyMap<string, Box>): string | undefined {
  const { from, to } = edge;
  const [a, b] = [boxes.get(from), boxes.get(to)];
  if (a === undefined || b === undefined) return undefined;
  const [startX, startY, endY] = [a.x + a.width, a.y + NODE_HEIGHT / 2, b.y + NODE_HEIGHT / 2];
  if (a.x === b.x) {
    const out = startX + 14 + Math.min(24, Math.abs(endY - startY) / 5);
    // An edge from a node to itself: the function calls itself.
    if (from === to)
      return `M${startX} ${startY - 6}C${out} ${startY - 14} ${out} ${startY + 14} ${startX} ${startY + 6}`;
    return `M${startX} ${startY}C${out} ${startY} ${out} ${endY} ${startX} ${endY}`;
  }
  // An edge to an earlier column is drawn like one in the other direction.
  if (b.x < a.x) return pathOf({ ...edge, from: to, to: from }, boxes);
  const middle = (startX + b.x) / 2;
  return `M${startX} ${startY}C${middle} ${startY} ${middle} ${endY} ${b.x} ${endY}`;
}
