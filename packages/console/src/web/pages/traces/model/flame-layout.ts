import { endOf, type SpanNode, type TraceForest } from "../../../model/span-forest.ts";

export interface Frame {
  readonly node: SpanNode;
  readonly lane: number;
  readonly endMs: number;
}

/** Places spans in lanes below their parents. A span that overlaps a sibling is placed in a lower lane. */
export function layOutFlame(
  forest: TraceForest,
  nowMs: number,
): { readonly frames: readonly Frame[]; readonly laneCount: number } {
  const laneOf = new Map<SpanNode, number>();
  const reach: number[] = [];
  const frames: Frame[] = [];
  for (const node of forest.nodes) {
    const endMs = endOf(node, nowMs);
    let lane = node.parent === undefined ? 0 : (laneOf.get(node.parent) ?? 0) + 1;
    while ((reach[lane] ?? Number.NEGATIVE_INFINITY) > node.startMs) lane += 1;
    reach[lane] = Math.max(endMs, node.startMs);
    laneOf.set(node, lane);
    frames.push({ node, lane, endMs });
  }
  return { frames, laneCount: reach.length };
}
