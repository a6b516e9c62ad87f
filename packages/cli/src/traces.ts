import type { Worker } from "@svc/sdk";

/** A span of a trace, as far as it takes to draw it. */
export interface Span {
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly name: string;
  readonly start_time_unix_nano_text: string;
  /** Null while it is pending. */
  readonly end_time_unix_nano_text: string | null;
  readonly status: "ok" | "error" | "unset";
  readonly status_description?: string;
  readonly service_name: string;
}

export interface SpanTree {
  readonly span: Span;
  readonly children: SpanTree[];
}

/** What a terminal can show of a trace; a larger one says so. */
export const MAX_SPANS = 2_000;

export interface Spans {
  readonly spans: readonly Span[];
  /** How many the trace has. */
  readonly total: number;
}

/** The spans of a trace by their beginning, `MAX_SPANS` at most; none when it is not kept. */
export async function spansOf(engine: Pick<Worker, "call">, traceId: string): Promise<Spans> {
  const payload = { trace_id: traceId, limit: MAX_SPANS, detail: "lean" };
  return engine.call<Spans>({ function_id: "engine::traces::spans", payload });
}

/** Spans below their parents; those whose parent is not among them are roots. Nobody is left out, whatever parents they name. */
export function treesOf(spans: readonly Span[]): readonly SpanTree[] {
  const trees = new Map(spans.map((span) => [span.span_id, { span, children: [] as SpanTree[] }]));
  const roots: SpanTree[] = [];
  for (const tree of trees.values()) {
    const parent = trees.get(tree.span.parent_span_id ?? "");
    if (parent === undefined || leadsTo(tree.span, { trees, from: parent.span })) roots.push(tree);
    else parent.children.push(tree);
  }
  return roots;
}

/** Whether the parents of `from` lead back to the span: spans come from outside, too, and may name each other. */
function leadsTo(span: Span, { trees, from }: { readonly trees: ReadonlyMap<string, SpanTree>; readonly from: Span }): boolean {
  const seen = new Set<string>();
  for (let at: Span | undefined = from; at !== undefined && !seen.has(at.span_id); at = trees.get(at.parent_span_id ?? "")?.span) {
    if (at.span_id === span.span_id) return true;
    seen.add(at.span_id);
  }
  return false;
}
