import { t } from "../labels/translate.ts";
import { type LeanSpan, statusOfSpan, type TraceStatus } from "./trace-types.ts";

/** A span in its trace. Times are milliseconds with a fraction, counted from the start of the trace. */
export interface SpanNode {
  readonly id: string;
  /** Undefined for a node that stands for a parent whose span has not arrived. */
  readonly span: LeanSpan | undefined;
  readonly name: string;
  readonly service: string;
  readonly status: TraceStatus;
  readonly startMs: number;
  /** Undefined until the span ends. */
  readonly endMs: number | undefined;
  parent: SpanNode | undefined;
  readonly children: SpanNode[];
  depth: number;
  /** Index in `TraceForest.nodes`. */
  at: number;
}

export interface TraceForest {
  /** All nodes in depth-first order, siblings by start. */
  readonly nodes: readonly SpanNode[];
  readonly byId: ReadonlyMap<string, SpanNode>;
  readonly roots: readonly SpanNode[];
  readonly startUnixNano: bigint;
  /** Time from the first start to the last known start or end, in milliseconds. */
  readonly lengthMs: number;
  readonly isPending: boolean;
  readonly spanCount: number;
  readonly errorCount: number;
  /** Number of levels of the tree. */
  readonly depth: number;
  readonly services: readonly string[];
  /** Number of spans whose parent has not arrived. */
  readonly orphanCount: number;
  /** True if a span is its own ancestor. */
  readonly hasCycle: boolean;
  /**
   * Number of spans that start more than 1 ms before their parent in another service. That is possible because clocks
   * differ.
   */
  readonly skewedCount: number;
  /** The earliest span without a parent. If all spans have one, the earliest span. */
  readonly root: SpanNode | undefined;
  /** True if `root` is a span without a parent. */
  readonly hasRoot: boolean;
}

const SKEW_MS = 1;
const ZERO_IDS = /^0*$/;

/** Builds the trees of a trace. Each span appears once, even if parents are missing or form a cycle. */
export function buildForest(spans: readonly LeanSpan[]): TraceForest {
  const starts = spans.map((span) => BigInt(span.start_time_unix_nano_text));
  const startUnixNano = starts.reduce(earlier, starts[0] ?? 0n);
  const byId = new Map<string, SpanNode>();
  for (const [at, span] of spans.entries())
    byId.set(span.span_id, nodeOf(span, starts[at] ?? startUnixNano, startUnixNano));
  const ordered = [...byId.values()].sort((a, b) => a.startMs - b.startMs || (a.id < b.id ? -1 : 1));
  const { roots, orphanCount } = linkParents(ordered, byId);
  const hasCycle = breakCycles(ordered, roots);
  roots.sort((a, b) => a.startMs - b.startMs);
  const nodes = preorder(roots);
  const top = roots.find(({ span }) => span !== undefined && isTop(span));
  const ends = ordered.map(({ startMs, endMs }) => Math.max(startMs, endMs ?? startMs));
  return {
    nodes,
    byId,
    roots,
    startUnixNano,
    lengthMs: ends.reduce((last, next) => Math.max(last, next), 0),
    isPending: ordered.some(({ endMs }) => endMs === undefined),
    spanCount: ordered.length,
    errorCount: ordered.filter(({ status }) => status === "error").length,
    depth: nodes.reduce((most, { depth }) => Math.max(most, depth + 1), 0),
    services: [...new Set(ordered.map(({ service }) => service))],
    orphanCount,
    hasCycle,
    skewedCount: ordered.filter(isSkewed).length,
    root: top ?? ordered[0],
    hasRoot: top !== undefined,
  };
}

function earlier(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}

function nodeOf(span: LeanSpan, start: bigint, traceStart: bigint): SpanNode {
  const startMs = Number(start - traceStart) / 1e6;
  const endMs =
    span.end_time_unix_nano_text === null
      ? undefined
      : Math.max(startMs, Number(BigInt(span.end_time_unix_nano_text) - traceStart) / 1e6);
  const facts = {
    id: span.span_id,
    span,
    name: span.name,
    service: span.service_name,
    status: statusOfSpan(span),
    startMs,
    endMs,
  };
  return { ...facts, parent: undefined, children: [], depth: 0, at: 0 };
}

function isTop(span: LeanSpan): boolean {
  return span.parent_span_id === null || ZERO_IDS.test(span.parent_span_id);
}

function linkParents(ordered: readonly SpanNode[], byId: Map<string, SpanNode>) {
  const roots: SpanNode[] = [];
  const missing = new Map<string, SpanNode>();
  let orphanCount = 0;
  for (const node of ordered) {
    const parentId = node.span === undefined || isTop(node.span) ? undefined : (node.span.parent_span_id ?? undefined);
    if (parentId === undefined) {
      roots.push(node);
      continue;
    }
    let parent = byId.get(parentId);
    if (parent === undefined) {
      orphanCount += 1;
      parent = missing.get(parentId) ?? placeholder(parentId, node);
      if (!missing.has(parentId)) roots.push(parent);
      missing.set(parentId, parent);
    }
    node.parent = parent;
    parent.children.push(node);
  }
  for (const [id, node] of missing) byId.set(id, node);
  return { roots, orphanCount };
}

function placeholder(id: string, first: SpanNode): SpanNode {
  const facts = {
    id,
    span: undefined,
    name: t`missing parent`,
    service: "",
    status: "ok" as const,
    startMs: first.startMs,
    endMs: first.startMs,
  };
  return { ...facts, parent: undefined, children: [], depth: 0, at: 0 };
}

function breakCycles(ordered: readonly SpanNode[], roots: SpanNode[]): boolean {
  const reached = new Set(preorder(roots));
  let hasCycle = false;
  for (const node of ordered) {
    if (reached.has(node)) continue;
    hasCycle = true;
    const { parent } = node;
    parent?.children.splice(parent.children.indexOf(node), 1);
    node.parent = undefined;
    roots.push(node);
    for (const below of preorder([node])) reached.add(below);
  }
  return hasCycle;
}

/**
 * Lists the nodes in depth-first order, and sets their depth and index. It is not recursive, because a trace may be
 * very deep.
 */
function preorder(roots: readonly SpanNode[]): SpanNode[] {
  const found: SpanNode[] = [];
  const waiting = [...roots].reverse();
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    node.depth = node.parent === undefined ? 0 : node.parent.depth + 1;
    node.at = found.length;
    found.push(node);
    for (let at = node.children.length - 1; at >= 0; at -= 1) waiting.push(node.children[at] as SpanNode);
  }
  return found;
}

function isSkewed(node: SpanNode): boolean {
  const { parent } = node;
  if (parent?.span === undefined || parent.service === node.service) return false;
  return node.startMs < parent.startMs - SKEW_MS;
}

/** Returns the end of a span, or the current time if it has not ended. */
export function endOf(node: SpanNode, nowMs: number): number {
  return node.endMs ?? Math.max(node.startMs, nowMs);
}

/** Returns the part of the span's duration that no child covers. */
export function selfTimeMs(node: SpanNode, nowMs: number): number {
  const end = endOf(node, nowMs);
  let covered = 0;
  let reach = node.startMs;
  // Siblings are sorted by their start, so one pass is enough.
  for (const child of node.children) {
    const from = Math.max(child.startMs, reach);
    const to = Math.min(endOf(child, nowMs), end);
    if (to <= from) continue;
    covered += to - from;
    reach = to;
  }
  return Math.max(0, end - node.startMs - covered);
}
