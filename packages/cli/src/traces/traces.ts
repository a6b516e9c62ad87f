import type { Worker } from "@svc-runtime/sdk";
import type { MergedFrom } from "./trace-ids.ts";

/** A span, with the members that are needed to draw it. */
export interface Span {
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly name: string;
  readonly start_time_unix_nano_text: string;
  /** Null while the span is running. */
  readonly end_time_unix_nano_text: string | null;
  readonly status: "ok" | "error" | "unset";
  readonly status_description?: string;
  readonly service_name: string;
  /** Engine of the cluster that recorded the span. */
  readonly node?: string;
}

export interface SpanTree {
  readonly span: Span;
  readonly children: SpanTree[];
}

/** Maximum number of spans that are drawn on a terminal. */
export const MAX_SPANS = 2_000;

export interface Spans extends MergedFrom {
  readonly spans: readonly Span[];
  /** Number of spans in the trace. */
  readonly total: number;
}

/**
 * Returns the first `MAX_SPANS` spans of a trace, sorted by start time. Returns no spans if the trace does not exist.
 */
export async function spansOf(engine: Pick<Worker, "call">, traceId: string): Promise<Spans> {
  const payload = { trace_id: traceId, limit: MAX_SPANS, detail: "lean" };
  return engine.call<Spans>({ function_id: "engine::traces::spans", payload });
}

/**
 * Builds trees of spans. Spans without a known parent, or whose parents form a cycle, become roots, so that no span is
 * lost.
 */
export function treesOf(spans: readonly Span[]): readonly SpanTree[] {
  const trees = new Map(spans.map((span) => [span.span_id, { span, children: [] as SpanTree[] }]));
  const roots: SpanTree[] = [];
  for (const tree of trees.values()) {
    const parent = trees.get(tree.span.parent_span_id ?? "");
    if (parent === undefined || isAncestor(tree.span, { trees, from: parent.span })) roots.push(tree);
    else parent.children.push(tree);
  }
  return roots;
}

/** Returns true if the parents of `from` lead back to the span. Spans from other systems may form such cycles. */
function isAncestor(
  span: Span,
  { trees, from }: { readonly trees: ReadonlyMap<string, SpanTree>; readonly from: Span },
): boolean {
  const seen = new Set<string>();
  for (
    let at: Span | undefined = from;
    at !== undefined && !seen.has(at.span_id);
    at = trees.get(at.parent_span_id ?? "")?.span
  ) {
    if (at.span_id === span.span_id) return true;
    seen.add(at.span_id);
  }
  return false;
}
