import { endOf, type SpanNode } from "./span-forest.ts";

export interface Piece {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * What the trace's length is made of: from the end of the root backwards, at each moment the child that finished last before it, else the span itself.
 * Spans that are not on the path are not in the map.
 */
export function criticalPath(root: SpanNode, nowMs: number): ReadonlyMap<SpanNode, readonly Piece[]> {
  const pieces = new Map<SpanNode, Piece[]>();
  const waiting: { readonly node: SpanNode; readonly untilMs: number }[] = [{ node: root, untilMs: endOf(root, nowMs) }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node } = next;
    let cursor = Math.min(endOf(node, nowMs), next.untilMs);
    const own: Piece[] = [];
    const children = [...node.children].sort((a, b) => endOf(b, nowMs) - endOf(a, nowMs));
    for (const child of children) {
      const end = endOf(child, nowMs);
      // A child that goes on after the moment in question was not waited for.
      if (end > cursor || child.startMs < node.startMs || end <= child.startMs) continue;
      if (cursor > end) own.push({ fromMs: end, toMs: cursor });
      waiting.push({ node: child, untilMs: end });
      cursor = child.startMs;
    }
    if (cursor > node.startMs) own.push({ fromMs: node.startMs, toMs: cursor });
    pieces.set(node, own.reverse());
  }
  return pieces;
}
