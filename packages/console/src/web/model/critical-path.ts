import { endOf, type SpanNode, type TraceForest } from "./span-forest.ts";

export interface Segment {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Returns the segments of the critical path, by span. The path is followed backwards from the end of the root. While
 * children were running, it follows the child that ended last. While none was running, it follows the span itself.
 */
export function criticalPath(root: SpanNode, nowMs: number): ReadonlyMap<SpanNode, readonly Segment[]> {
  const segments = new Map<SpanNode, Segment[]>();
  const waiting: { readonly node: SpanNode; readonly untilMs: number }[] = [
    { node: root, untilMs: endOf(root, nowMs) },
  ];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node } = next;
    let cursor = Math.min(endOf(node, nowMs), next.untilMs);
    const own: Segment[] = [];
    const children = [...node.children].sort((a, b) => endOf(b, nowMs) - endOf(a, nowMs));
    for (const child of children) {
      const end = endOf(child, nowMs);
      // A child that ends after this point was not waited for.
      if (end > cursor || child.startMs < node.startMs || end <= child.startMs) continue;
      if (cursor > end) own.push({ fromMs: end, toMs: cursor });
      waiting.push({ node: child, untilMs: end });
      cursor = child.startMs;
    }
    if (cursor > node.startMs) own.push({ fromMs: node.startMs, toMs: cursor });
    segments.set(node, own.reverse());
  }
  return segments;
}

export interface SlowPart {
  readonly node: SpanNode;
  /** Time on the critical path that the span itself took, in milliseconds. */
  readonly selfMs: number;
}

/** Returns the span with the longest time of its own on the critical path. Returns undefined if there are no spans. */
export function slowestPart({ root }: TraceForest, nowMs: number): SlowPart | undefined {
  if (root === undefined) return undefined;
  const parts = [...criticalPath(root, nowMs)].map(([node, segments]) => ({
    node,
    selfMs: segments.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0),
  }));
  return parts.reduce<SlowPart | undefined>(
    (most, part) => (most === undefined || part.selfMs > most.selfMs ? part : most),
    undefined,
  );
}
