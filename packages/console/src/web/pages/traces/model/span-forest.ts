import { type LeanSpan, statusOfSpan, type TraceStatus } from "../../../model/trace-types.ts";

/** A span in its trace. Times are milliseconds since the trace began, with fractions. */
export interface SpanNode {
  readonly id: string;
  /** Undefined: a parent that never came; those that name it hang below this. */
  readonly span: LeanSpan | undefined;
  readonly name: string;
  readonly service: string;
  readonly status: TraceStatus;
  readonly startMs: number;
  /** Undefined while it has not ended. */
  readonly endMs: number | undefined;
  parent: SpanNode | undefined;
  readonly children: SpanNode[];
  depth: number;
  /** Its place when all are open. */
  at: number;
}

export interface TraceForest {
  /** Parents before their children, siblings by their beginning. */
  readonly nodes: readonly SpanNode[];
  readonly byId: ReadonlyMap<string, SpanNode>;
  readonly roots: readonly SpanNode[];
  readonly startUnixNano: bigint;
  /** From the first beginning to the last end (or beginning) that is known. */
  readonly lengthMs: number;
  readonly isPending: boolean;
  readonly spanCount: number;
  readonly errorCount: number;
  /** Levels below the root, counted from one. */
  readonly depth: number;
  readonly services: readonly string[];
  /** Spans whose parent never came. */
  readonly orphanCount: number;
  /** A span was its own ancestor. */
  readonly hadCircle: boolean;
  /** Spans that begin before their parents or end after them, by more than a millisecond, in another service: the clocks differ, or the work went on. */
  readonly skewedCount: number;
  /** The earliest span without a parent, else the earliest. */
  readonly root: SpanNode | undefined;
}

const SKEW_MS = 1;
const ZERO_IDS = /^0*$/;

/** Joins the spans of a trace to trees. Each is in it once, whatever parents they name. */
export function growForest(spans: readonly LeanSpan[]): TraceForest {
  const starts = spans.map((span) => BigInt(span.start_time_unix_nano_text));
  const startUnixNano = starts.reduce(earlier, starts[0] ?? 0n);
  const byId = new Map<string, SpanNode>();
  for (const [at, span] of spans.entries()) byId.set(span.span_id, nodeOf(span, starts[at] ?? startUnixNano, startUnixNano));
  const ordered = [...byId.values()].sort((a, b) => a.startMs - b.startMs || (a.id < b.id ? -1 : 1));
  const { roots, orphanCount } = join(ordered, byId);
  const hadCircle = breakCircles(ordered, roots);
  roots.sort((a, b) => a.startMs - b.startMs);
  const nodes = preorder(roots);
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
    hadCircle,
    skewedCount: ordered.filter(isSkewed).length,
    root: roots.find(({ span }) => span !== undefined && isTop(span)) ?? ordered[0],
  };
}

function earlier(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}

function nodeOf(span: LeanSpan, start: bigint, traceStart: bigint): SpanNode {
  const startMs = Number(start - traceStart) / 1e6;
  const endMs = span.end_time_unix_nano_text === null ? undefined : Math.max(startMs, Number(BigInt(span.end_time_unix_nano_text) - traceStart) / 1e6);
  const facts = { id: span.span_id, span, name: span.name, service: span.service_name, status: statusOfSpan(span), startMs, endMs };
  return { ...facts, parent: undefined, children: [], depth: 0, at: 0 };
}

function isTop(span: LeanSpan): boolean {
  return span.parent_span_id === null || ZERO_IDS.test(span.parent_span_id);
}

function join(ordered: readonly SpanNode[], byId: Map<string, SpanNode>) {
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
  const facts = { id, span: undefined, name: "missing parent", service: "", status: "ok" as const, startMs: first.startMs, endMs: first.startMs };
  return { ...facts, parent: undefined, children: [], depth: 0, at: 0 };
}

function breakCircles(ordered: readonly SpanNode[], roots: SpanNode[]): boolean {
  const reached = new Set(preorder(roots));
  let had = false;
  for (const node of ordered) {
    if (reached.has(node)) continue;
    had = true;
    const { parent } = node;
    parent?.children.splice(parent.children.indexOf(node), 1);
    node.parent = undefined;
    roots.push(node);
    for (const below of preorder([node])) reached.add(below);
  }
  return had;
}

/** Needs no stack of calls, however deep it goes. */
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

/** When it ends, for drawing: what has not ended reaches to now. */
export function endOf(node: SpanNode, nowMs: number): number {
  return node.endMs ?? Math.max(node.startMs, nowMs);
}

/** Its duration minus what its children cover of it. */
export function selfTimeMs(node: SpanNode, nowMs: number): number {
  const end = endOf(node, nowMs);
  let covered = 0;
  let reach = node.startMs;
  // Siblings are in the order of their beginning.
  for (const child of node.children) {
    const from = Math.max(child.startMs, reach);
    const to = Math.min(endOf(child, nowMs), end);
    if (to <= from) continue;
    covered += to - from;
    reach = to;
  }
  return Math.max(0, end - node.startMs - covered);
}
