import { durationMs, type SpanRecord } from "../telemetry-records.ts";
import { bySpanStart } from "./span-store.ts";
import { isRoot } from "./trace-facts.ts";

export interface SpanNode {
  readonly span: SpanRecord;
  readonly children: SpanNode[];
}

export interface SpanForest {
  readonly roots: readonly SpanNode[];
  /** Ids of spans whose parent is missing. These spans are roots too. */
  readonly orphans: readonly string[];
}

/**
 * Builds trees from spans. Each span appears once. If parents form a cycle, the earliest span of the cycle becomes a
 * root.
 */
export function buildSpanForest(spans: readonly SpanRecord[]): SpanForest {
  const nodes = new Map<string, SpanNode>();
  for (const span of [...spans].sort(bySpanStart)) nodes.set(span.spanId, { span, children: [] });
  const roots: SpanNode[] = [];
  const orphans: string[] = [];
  for (const node of nodes.values()) {
    const parent = isRoot(node.span) ? undefined : nodes.get(node.span.parentSpanId ?? "");
    if (parent !== undefined) parent.children.push(node);
    else roots.push(node);
    if (parent === undefined && !isRoot(node.span)) orphans.push(node.span.spanId);
  }
  breakCycles(nodes, roots);
  return { roots, orphans };
}

function breakCycles(nodes: ReadonlyMap<string, SpanNode>, roots: SpanNode[]): void {
  const reached = new Set<SpanNode>();
  for (const root of roots) reach(root, reached);
  if (reached.size === nodes.size) return;
  for (const node of nodes.values()) {
    if (reached.has(node)) continue;
    const parent = nodes.get(node.span.parentSpanId ?? "");
    parent?.children.splice(parent.children.indexOf(node), 1);
    roots.push(node);
    reach(node, reached);
  }
}

function reach(from: SpanNode, reached: Set<SpanNode>): void {
  for (const { node } of preorder([from])) reached.add(node);
}

/**
 * Yields parents before their children, and siblings by start time. It is not recursive, because traces may be deep.
 */
export function* preorder(roots: readonly SpanNode[]): Generator<{ readonly node: SpanNode; readonly depth: number }> {
  const waiting = roots.map((node) => ({ node, depth: 0 })).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield next;
    for (let index = next.node.children.length - 1; index >= 0; index -= 1) {
      const child = next.node.children[index];
      if (child !== undefined) waiting.push({ node: child, depth: next.depth + 1 });
    }
  }
}

/** Returns figures for each service: the number of spans, the number of failed spans, and the average duration. */
export function servicesOf(spans: readonly SpanRecord[]) {
  const services = new Map<string, { spans: number; errors: number; ended: number; totalMs: number }>();
  for (const span of spans) {
    const service = services.get(span.resource.service) ?? { spans: 0, errors: 0, ended: 0, totalMs: 0 };
    services.set(span.resource.service, service);
    service.spans += 1;
    if (span.status === "error") service.errors += 1;
    if (span.endUnixNano === undefined) continue;
    service.ended += 1;
    service.totalMs += durationMs(span.startUnixNano, span.endUnixNano);
  }
  return [...services].map(([name, { spans: count, errors, ended, totalMs }]) => ({
    name,
    spans: count,
    errors,
    avg_duration_ms: ended === 0 ? null : totalMs / ended,
  }));
}
